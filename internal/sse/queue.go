package sse

import (
	"fmt"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// fact ends the stream of a run that never began when its message is taken out
// of the queue.
func (e *Encoder) fact(b []byte, r event.Record) (out []byte, terminal bool, err error) {
	if e.begun || r.Run != "" || r.Kind != (event.Queue{}).Kind() {
		return b, false, nil
	}
	fact, err := queueFact(r)
	if err != nil || fact.Run != e.run || fact.Op != event.QueueRemove {
		return b, false, err
	}
	e.ended = true
	return appendDropped(b, e.epoch, e.run, r.Seq), true, nil
}

// appendDropped appends the only frame of a run whose message was taken out of
// the queue by the record seq. There is no answer that it could name.
func appendDropped(b []byte, epoch id.Epoch, run id.Run, seq int64) []byte {
	b = str(open(b, nameCancelled, ""), "run_id", string(run))
	return closeFrame(b, epoch, seq)
}

// queueFact decodes a fact about the queue.
func queueFact(r event.Record) (event.Queue, error) {
	ev, err := r.Event()
	if err != nil {
		return event.Queue{}, fmt.Errorf("record %d of %s: %w", r.Seq, r.Conversation, err)
	}
	fact, _ := ev.(event.Queue)
	return fact, nil
}
