package e2e

import (
	"errors"
	"fmt"
	"io"

	"verbatim/internal/id"
)

// seen is what one client has got of a run, over all its connections.
type seen struct {
	frames   []frame
	segments map[string]string // text and reasoning by segment
	order    []string
	text     string // of all deltas
	last     int64  // seq
	terminal *frame
}

// errWire is an event that no client should ever get.
var errWire = errors.New("wrong on the wire")

// take adds an event, and fails with errWire when it repeats, skips or follows
// the end.
func (s *seen) take(f frame) error {
	if err := s.add(f); err != nil {
		return fmt.Errorf("%w: %w", errWire, err)
	}
	return nil
}

func (s *seen) add(f frame) error {
	c, err := id.ParseCursor(f.ID)
	switch {
	case err != nil:
		return fmt.Errorf("id %q of %s: %w", f.ID, f.Name, err)
	case s.terminal != nil:
		return fmt.Errorf("%s after the terminal", f.Name)
	case len(s.frames) > 0 && c.Seq <= s.last:
		return fmt.Errorf("%s has seq %d after %d", f.Name, c.Seq, s.last)
	case len(s.frames) == 0 && f.Name != "start" && f.Name != "cancelled":
		return fmt.Errorf("the first event is %s", f.Name)
	case len(s.frames) > 0 && f.Name == "start":
		return errors.New("a second start")
	}
	s.frames, s.last = append(s.frames, f), c.Seq
	if f.terminal() {
		s.terminal = &s.frames[len(s.frames)-1]
	}
	if f.Name != "delta" && f.Name != "reasoning" {
		return nil
	}
	return s.takeText(f)
}

func (s *seen) takeText(f frame) error {
	if s.segments == nil {
		s.segments = map[string]string{}
	}
	have, ok := s.segments[f.Data.Segment]
	if !ok {
		s.order = append(s.order, f.Data.Segment)
	}
	if f.Data.Offset != int64(len(have)) {
		return fmt.Errorf("%s of segment %s at offset %d, want %d", f.Name, f.Data.Segment, f.Data.Offset, len(have))
	}
	s.segments[f.Data.Segment] = have + f.Data.Text
	if f.Name == "delta" {
		s.text += f.Data.Text
	}
	return nil
}

// lastID is what a client would send to go on.
func (s *seen) lastID() string {
	if len(s.frames) == 0 {
		return ""
	}
	return s.frames[len(s.frames)-1].ID
}

// upTo is what a client knows that has taken only the first n events.
func (s *seen) upTo(n int) *seen {
	out := &seen{}
	for _, f := range s.frames[:n] {
		if err := out.take(f); err != nil {
			panic(err)
		}
	}
	return out
}

// readAll takes events until the answer ends or breaks off. The error is nil at
// a clean end.
func (s *seen) readAll(from *stream) error {
	for {
		f, err := from.next()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.take(f)
		}
		if err != nil {
			return err
		}
	}
}

// readUntil takes events until one satisfies stop.
func (s *seen) readUntil(from *stream, stop func(frame) bool) error {
	for {
		f, err := from.next()
		if err == nil {
			err = s.take(f)
		}
		if err != nil || stop(f) {
			return err
		}
	}
}
