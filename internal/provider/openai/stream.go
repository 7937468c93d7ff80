package openai

import (
	"bufio"
	"errors"
	"io"
	"time"

	"verbatim/internal/llm"
	"verbatim/internal/llm/sseread"
)

const (
	// afterFinish is how long a server may be silent once the model has
	// finished; usage and the end mark come at once if they come.
	afterFinish = 10 * time.Second
	// drainTime and drainBytes bound what is done to keep the connection.
	drainTime  = 50 * time.Millisecond
	drainBytes = 4 << 10
)

// stream carries one answer from the body to the caller.
type stream struct {
	model   *Model
	watch   *watch
	yield   func(llm.Chunk, error) bool
	decoder decoder
	chunks  []llm.Chunk
}

func (s *stream) run() {
	body := bufio.NewReaderSize(s.watch, 512)
	whole, err := isObject(body)
	switch {
	case err != nil:
		s.end(err)
	case whole:
		s.readObject(body)
	default:
		s.readEvents(body)
	}
}

// isObject looks at the first byte of the body that is not white space.
func isObject(body *bufio.Reader) (bool, error) {
	for {
		c, err := body.ReadByte()
		if err != nil {
			return false, err
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c == '{', body.UnreadByte()
	}
}

func (s *stream) readObject(body io.Reader) {
	data, err := io.ReadAll(io.LimitReader(body, sseread.MaxBytes+1))
	if err == nil && len(data) > sseread.MaxBytes {
		err = sseread.ErrTooLong
	}
	if err == nil {
		s.chunks = s.decoder.add(nil, data, nil, true)
		err = io.EOF
	}
	s.end(err)
}

func (s *stream) readEvents(body io.Reader) {
	events := sseread.New(body)
	for {
		ev, err := events.Next()
		if err != nil {
			s.end(err)
			return
		}
		s.chunks = s.decoder.add(s.chunks, ev.Data, ev.Name, false)
		d := &s.decoder
		if d.bad && ev.Cut {
			d.bad = false // it was cut off; why is what comes next
		}
		if d.done || d.bad || d.problem != nil {
			s.end(nil)
			return
		}
		if !s.flush() {
			return
		}
		if d.finish != "" {
			s.watch.shorten(afterFinish)
		}
	}
}

// flush yields the chunks that wait, and reports whether to go on.
func (s *stream) flush() bool {
	for _, c := range s.chunks {
		if !s.yield(c, nil) {
			return false
		}
	}
	s.chunks = s.chunks[:0]
	return true
}

// end yields what was held back, and how the answer ended. err is why nothing
// more can be read, nil if nothing more has to be.
func (s *stream) end(err error) {
	s.chunks = s.decoder.end(s.chunks)
	if !s.flush() {
		return
	}
	if s.decoder.complete() && s.watch.parent.Err() == nil {
		s.yield(llm.Chunk{Finish: &llm.Finish{Reason: s.decoder.reason()}}, nil)
		if err == nil {
			s.drain()
		}
		return
	}
	s.yield(llm.Chunk{}, s.failure(err))
}

func (s *stream) failure(err error) error {
	switch {
	case s.decoder.problem != nil:
		return s.model.interruption(s.decoder.problem)
	case s.decoder.bad && (err == nil || err == io.EOF):
		return unreadable("the provider sent something that is not JSON", nil)
	case errors.Is(err, sseread.ErrTooLong):
		return unreadable("the provider sent more than 16 MiB in one piece", err)
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return s.watch.explain(err, broken)
}

// drain reads the end of the body, which is there already as a rule, so that
// the connection can serve another request.
func (s *stream) drain() {
	limit := time.AfterFunc(drainTime, func() { s.watch.cancel(errIdle) })
	defer limit.Stop()
	_, _ = io.CopyN(io.Discard, s.watch, drainBytes) // the answer is complete either way
}
