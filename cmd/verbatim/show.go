package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"verbatim/internal/client"
	"verbatim/internal/event"
	"verbatim/internal/term"
)

// payload are the fields of an event that are printed.
type payload struct {
	Text    string `json:"text"`
	Segment string `json:"segment"`
	Message string `json:"message"`
	Name    string `json:"name"`

	Args    json.RawMessage `json:"args"`
	OK      bool            `json:"ok"`
	Seconds float64         `json:"seconds"`
}

// textShower prints the answer's text, segments apart by a blank line, with
// everything taken out that would drive a terminal.
type textShower struct {
	out, err  io.Writer
	reasoning bool
	decider   *decider

	text, thought term.Filter
	buf           []byte
	segment       string
	last          byte // last byte printed, 0 for none
	ended         bool // a notice has ended the line since
	thinking      bool
	outcome       error
}

func (s *textShower) event(ctx context.Context, e client.Event) error {
	var p payload
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return fmt.Errorf("event %s of the server: %w", e.ID, err)
	}
	switch e.Name {
	case "delta":
		return s.delta(p)
	case "reasoning":
		return s.think(p.Text)
	case "approval_request":
		s.decider.asked(ctx, e.Data)
	case "tool_call":
		_, err := fmt.Fprintf(s.err, "%sverbatim: %s %s\n", s.lineEnd(), safe(p.Name), clipped(p.Args, maxCallArgs))
		return err
	case "tool_result":
		s.decider.settled(e.Data)
		return s.result(p)
	case "error":
		s.outcome = errors.New(p.Message)
	case "cancelled":
		s.outcome = errors.New("the answer was cancelled")
	}
	return nil
}

// maxCallArgs is how much of a call's arguments is told as it begins, in bytes; a
// question shows more.
const maxCallArgs = 100

// lineEnd ends the line of text that a notice would else go on with: both stand
// on one screen.
func (s *textShower) lineEnd() string {
	if s.last == 0 || s.last == '\n' || s.ended {
		return ""
	}
	s.ended = true
	return "\n"
}

// result says how a call ended, in a line; the whole output is in the log.
func (s *textShower) result(p payload) error {
	how := "done"
	if !p.OK {
		how = "failed"
	}
	_, err := fmt.Fprintf(s.err, "verbatim: %s %s after %.1f s\n", safe(p.Name), how, p.Seconds)
	return err
}

func (s *textShower) delta(p payload) error {
	if err := s.endThought(); err != nil {
		return err
	}
	s.buf = s.buf[:0]
	if p.Segment != s.segment && s.last != 0 {
		s.buf = append(s.text.Flush(s.buf), "\n\n"...)
	}
	s.segment = p.Segment
	s.buf = s.text.Append(s.buf, p.Text)
	return s.print()
}

func (s *textShower) print() error {
	if len(s.buf) == 0 {
		return nil
	}
	s.last, s.ended = s.buf[len(s.buf)-1], false
	_, err := s.out.Write(s.buf)
	return err
}

func (s *textShower) think(text string) error {
	if !s.reasoning {
		return nil
	}
	s.thinking = true
	_, err := s.err.Write(s.thought.Append(nil, text))
	return err
}

func (s *textShower) endThought() error {
	if !s.thinking {
		return nil
	}
	s.thinking = false
	_, err := fmt.Fprintf(s.err, "%s\n\n", s.thought.Flush(nil))
	return err
}

// end is called after the terminal and says how the run ended.
func (s *textShower) end() error {
	thought := s.endThought()
	s.buf = s.text.Flush(s.buf[:0])
	if s.last != 0 && s.last != '\n' || len(s.buf) > 0 {
		s.buf = append(s.buf, '\n')
	}
	return errors.Join(thought, s.print(), s.outcome)
}

// recordShower prints each record of a run as a line of JSON, its native form.
type recordShower struct {
	out       io.Writer
	buf, line []byte
	// outcome is how the run ended; its last line has told why.
	outcome error
}

func (s *recordShower) record(r event.Record) error {
	switch r.Kind {
	case event.Error{}.Kind(), event.Cancelled{}.Kind():
		s.outcome = errSilent
	}
	s.buf = r.AppendJSON(s.buf[:0])
	s.line = append(term.JSON(s.line[:0], s.buf), '\n')
	_, err := s.out.Write(s.line)
	return err
}
