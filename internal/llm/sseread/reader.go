// Package sseread reads a stream of server-sent events. It promises that the
// events are the same however the bytes were cut on their way, that no byte of
// a value but the one space after the colon is dropped, and that what came
// before an error is delivered before it. It does not reconnect and does not
// look into the data.
package sseread

import (
	"bytes"
	"errors"
	"io"
)

// MaxBytes is the longest line, and the most data of one event, that a Reader
// takes.
const MaxBytes = 16 << 20

// ErrTooLong ends a stream with a line or an event of more than MaxBytes. The
// events before it were delivered.
var ErrTooLong = errors.New("a line or an event of the stream is longer than 16 MiB")

const (
	firstBuffer = 16 << 10
	keptBuffer  = 1 << 20
)

// Event is one event. Its slices are valid until the next call of Next.
type Event struct {
	// Name is the value of the last event field, empty for none.
	Name []byte
	// Data is the values of the data fields, joined by line feeds.
	Data []byte
	// Cut reports that the stream ended where a blank line should have
	// ended the event, so that Data may be incomplete.
	Cut bool
}

// Reader reads events. It is not safe for concurrent use.
type Reader struct {
	src io.Reader
	max int
	err error

	buf     []byte
	r, w    int // the unread bytes are buf[r:w]
	scanned int // of these, how many hold no line end

	begun  bool // the first bytes were looked at for a byte order mark
	skipLF bool // the last line ended with CR, so LF belongs to it

	name, data []byte
	hasData    bool
}

// New returns a reader of r. It reads ahead, so r must not be used otherwise.
func New(r io.Reader) *Reader { return &Reader{src: r, max: MaxBytes} }

// Next returns the next event that has a data field; comments, and events
// without data, are passed over. At the end of the stream it delivers what is
// complete or, when the stream ended without an error, all that is there, as an
// event with Cut set; after that it returns io.EOF, the source's error or
// ErrTooLong, and the same again when called again.
func (r *Reader) Next() (Event, error) {
	r.reset()
	for {
		line, err := r.line()
		if err != nil {
			return r.last(line, err)
		}
		if len(line) > 0 {
			if err := r.field(line); err != nil {
				return Event{}, err
			}
			continue
		}
		if r.hasData {
			return Event{Name: r.name, Data: r.data}, nil
		}
		r.name = r.name[:0]
	}
}

func (r *Reader) reset() {
	r.name, r.hasData = r.name[:0], false
	if cap(r.data) > keptBuffer {
		r.data = nil
	}
	r.data = r.data[:0]
}

// last delivers what is left when the source has ended with err.
func (r *Reader) last(rest []byte, err error) (Event, error) {
	if err == io.EOF && len(rest) > 0 {
		r.r, r.scanned = r.w, 0
		if err := r.field(rest); err != nil {
			return Event{}, err
		}
	}
	if !r.hasData || errors.Is(err, ErrTooLong) {
		return Event{}, err
	}
	return Event{Name: r.name, Data: r.data, Cut: true}, nil
}

func (r *Reader) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	switch string(name) {
	case "data":
		if len(r.data)+len(value)+1 > r.max {
			r.err = ErrTooLong
			return r.err
		}
		if r.hasData {
			r.data = append(r.data, '\n')
		}
		r.data, r.hasData = append(r.data, value...), true
	case "event":
		r.name = append(r.name[:0], value...)
	}
	return nil
}

// line returns the next line without its end, valid until the next call. With
// an error it returns the unfinished last line.
func (r *Reader) line() ([]byte, error) {
	for {
		r.skip()
		if n := lineEnd(r.buf[r.r+r.scanned : r.w]); n >= 0 {
			line := r.buf[r.r : r.r+r.scanned+n]
			r.skipLF = r.buf[r.r+r.scanned+n] == '\r'
			r.r += len(line) + 1
			r.scanned = 0
			if len(line) > r.max {
				r.err = ErrTooLong
				return nil, r.err
			}
			return line, nil
		}
		r.scanned = r.w - r.r
		if r.err != nil {
			return r.buf[r.r:r.w], r.err
		}
		if r.scanned > r.max {
			r.err = ErrTooLong
			return nil, r.err
		}
		r.fill()
	}
}

// skip drops the second half of a CR LF and the byte order mark.
func (r *Reader) skip() {
	if r.skipLF && r.r < r.w {
		r.skipLF = false
		if r.buf[r.r] == '\n' {
			r.r++
		}
	}
	if r.begun {
		return
	}
	const mark = "\xef\xbb\xbf"
	head := string(r.buf[r.r:min(r.w, r.r+len(mark))])
	if head == mark {
		r.r += len(mark)
		r.scanned = 0
	}
	r.begun = len(head) == len(mark) || head != mark[:len(head)]
}

// fill reads once into the buffer, which it moves or grows when it is full.
func (r *Reader) fill() {
	if r.r == r.w {
		r.r, r.w = 0, 0
		if cap(r.buf) > keptBuffer {
			r.buf = nil
		}
	}
	if r.w == len(r.buf) {
		r.room()
	}
	n, err := r.src.Read(r.buf[r.w:])
	r.w += n
	if err != nil {
		r.err = err
	}
}

func (r *Reader) room() {
	if r.r > 0 && r.w-r.r <= len(r.buf)/2 {
		r.w = copy(r.buf, r.buf[r.r:r.w])
		r.r = 0
		return
	}
	grown := make([]byte, max(firstBuffer, 2*(r.w-r.r)))
	r.w = copy(grown, r.buf[r.r:r.w])
	r.buf, r.r = grown, 0
}

func lineEnd(b []byte) int {
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return cr
	}
	return lf
}
