package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// frame is one event as a client gets it.
type frame struct {
	Name string
	ID   string
	Data fields
	// Raw is the data line as it was sent.
	Raw string
}

// fields are the members that these tests read.
type fields struct {
	RunID        string  `json:"run_id"`
	MsgID        string  `json:"msg_id"`
	Conversation string  `json:"conversation_id"`
	Seq          int64   `json:"seq"`
	Segment      string  `json:"segment"`
	Offset       int64   `json:"offset"`
	Text         string  `json:"text"`
	Kind         string  `json:"kind"`
	Code         string  `json:"code"`
	Message      string  `json:"message"`
	SHA256       string  `json:"sha256"`
	Chars        int64   `json:"chars"`
	Reset        bool    `json:"reset"`
	UserIndex    *int    `json:"user_index"`
	Seconds      float64 `json:"seconds"`
	Approval     string  `json:"approval_id"`
	Call         string  `json:"call_id"`
	Name         string  `json:"name"`
	Reason       string  `json:"reason"`
	OK           bool    `json:"ok"`
	Output       string  `json:"output"`
}

func (f frame) terminal() bool {
	return f.Name == "end" || f.Name == "error" || f.Name == "cancelled"
}

// stream reads the events of an answer, and is strict about their form.
type stream struct {
	Status int
	Header http.Header
	body   io.ReadCloser
	lines  *bufio.Reader
}

func newStream(res *http.Response) *stream {
	return &stream{Status: res.StatusCode, Header: res.Header, body: res.Body, lines: bufio.NewReader(res.Body)}
}

func (s *stream) Close() error { return s.body.Close() }

// next returns the next event; io.EOF at a clean end. What comes of an event
// that was cut off counts for nothing, as a browser has it.
func (s *stream) next() (frame, error) {
	for {
		block, err := s.block()
		if err != nil {
			return frame{}, err
		}
		f, isEvent, err := parseBlock(block)
		if err != nil || isEvent {
			return f, err
		}
	}
}

func (s *stream) block() (string, error) {
	var block strings.Builder
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			if err == io.EOF && block.Len()+len(line) > 0 {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
		if line == "\n" {
			return block.String(), nil
		}
		block.WriteString(line)
	}
}

func parseBlock(block string) (f frame, isEvent bool, err error) {
	if strings.Contains(block, "\r") {
		return f, false, fmt.Errorf("carriage return in %q", block)
	}
	var order string
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, ":"):
			continue
		case name == "retry":
			continue
		case name == "event":
			f.Name = value
		case name == "data":
			f.Raw = value
		case name == "id":
			f.ID = value
		default:
			return f, false, fmt.Errorf("line %q in the stream", line)
		}
		order += name + " "
	}
	if order == "" {
		return f, false, nil
	}
	if order != "event data id " {
		return f, false, fmt.Errorf("an event of %q: %q", order, block)
	}
	if err := json.Unmarshal([]byte(f.Raw), &f.Data); err != nil {
		return f, false, fmt.Errorf("data of %s: %w", f.Name, err)
	}
	return f, true, nil
}
