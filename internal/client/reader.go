package client

import (
	"bufio"
	"bytes"
	"io"
)

// reader reads the events of our own stream: lines end with LF, an event has
// one data line and always an id.
type reader struct{ src *bufio.Reader }

func newReader(r io.Reader) *reader { return &reader{bufio.NewReaderSize(r, 32<<10)} }

// next returns the next whole event. One that the connection's end cut off is
// not returned; it will be sent again.
func (r *reader) next() (Event, error) {
	var e Event
	for {
		line, err := r.src.ReadBytes('\n')
		if err != nil {
			return Event{}, err
		}
		line = line[:len(line)-1]
		if len(line) == 0 {
			if e.Data != nil {
				return e, nil
			}
			e = Event{}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch string(name) {
		case "event":
			e.Name = string(value)
		case "id":
			e.ID = string(value)
		case "data":
			e.Data = value
		}
	}
}
