package sse

import "verbatim/internal/turnlog"

// waits reports whether a run's message is in the queue: it may still begin, or
// be dropped.
func waits(run turnlog.RunInfo) bool { return run.First == 0 && run.Dropped == 0 }

// dropped reports whether a run's message was taken out of the queue unsent.
func dropped(run turnlog.RunInfo) bool { return run.First == 0 && run.Dropped > 0 }

// begins returns the record behind which a run's frames are: the one before its
// start, the fact that put it into the queue while it waits there, the one
// before the fact that took it out.
func begins(run turnlog.RunInfo) int64 {
	switch {
	case run.First > 0:
		return run.First - 1
	case run.Dropped > 0:
		return run.Dropped - 1
	}
	return run.Queued
}

// ends returns the record of a run's last frame, 0 while more may come.
func ends(run turnlog.RunInfo) int64 {
	if dropped(run) {
		return run.Dropped
	}
	return run.Last
}
