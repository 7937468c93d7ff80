package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"verbatim/internal/id"
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
	case len(s.frames) == 0 && f.Name != "start":
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

// door is a way in: directly, over TLS, behind a proxy.
type door struct {
	name, base string
	token      string
	do         func(*http.Request) (*http.Response, error)
	// flaky says that this way in may drop an answer that it has not begun.
	flaky bool
}

// prompt is the body of POST /chat.
type prompt struct {
	Prompt       string `json:"prompt"`
	Chat         string `json:"chat_id,omitempty"`
	Run          string `json:"run_id,omitempty"`
	RegenerateOf *int   `json:"regenerate_of,omitempty"`
}

// chat sends POST /chat; after is a Last-Event-ID, empty for none. The caller
// closes the stream, whose Status may be a refusal.
func (d *door) chat(p prompt, after string) (*stream, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	header := http.Header{}
	if after != "" {
		header.Set("Last-Event-ID", after)
	}
	res, err := d.request("POST", "/chat", body, header)
	if err != nil {
		return nil, err
	}
	return newStream(res), nil
}

func (d *door) request(method, path string, body []byte, header http.Header) (*http.Response, error) {
	req, err := http.NewRequest(method, d.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+d.token)
	if len(body) > 0 {
		req.Header.Set("Content-Type", "application/json")
	}
	return d.do(req)
}

// mustChat is chat that has to be answered by a stream.
func (d *door) mustChat(t testing.TB, p prompt, after string) *stream {
	t.Helper()
	s, err := d.chat(p, after)
	if err != nil {
		t.Fatalf("%s: POST /chat: %v", d.name, err)
	}
	if s.Status != http.StatusOK {
		said, _ := io.ReadAll(s.body)
		s.Close()
		t.Fatalf("%s: POST /chat: status %d: %s", d.name, s.Status, said)
	}
	return s
}

// whole sends a message and reads its answer to the end.
func (d *door) whole(t testing.TB, p prompt) *seen {
	t.Helper()
	s := d.mustChat(t, p, "")
	defer s.Close()
	got := &seen{}
	if err := got.readAll(s); err != nil {
		t.Fatalf("%s: run %s: %v", d.name, p.Run, err)
	}
	if got.terminal == nil {
		t.Fatalf("%s: run %s ended without a terminal after %d events", d.name, p.Run, len(got.frames))
	}
	return got
}

// call sends a request with a JSON body (nil for none) and decodes the answer
// into out, if that is not nil. It returns the status.
func (d *door) call(t testing.TB, method, path string, in, out any) int {
	t.Helper()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			t.Fatal(err)
		}
	}
	res, err := d.request(method, path, body, http.Header{})
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	if out != nil {
		if err := json.Unmarshal(said, out); err != nil {
			t.Fatalf("%s %s: status %d, %v in %s", method, path, res.StatusCode, err, said)
		}
	}
	return res.StatusCode
}

// conversation is what GET /chats/{id} answers, as far as these tests read it.
type conversation struct {
	Title    string
	Messages []row
}

type row struct {
	Role, Content, Status string
	Versions              []string
	Parts                 []struct{ Type, Text, Name string }
	Error                 *struct{ Kind, Code, Message string }
}

func (d *door) conversation(t testing.TB, chat string) conversation {
	t.Helper()
	var c conversation
	if status := d.call(t, "GET", "/chats/"+chat, nil, &c); status != http.StatusOK {
		t.Fatalf("GET /chats/%s: status %d", chat, status)
	}
	return c
}

func name(prefix string, n int) string { return prefix + strconv.Itoa(n) }
