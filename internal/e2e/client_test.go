package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"
)

// door is a way in: directly, over TLS, behind a proxy.
type door struct {
	name, base string
	token      string
	do         func(*http.Request) (*http.Response, error)
	// chunked makes bodies go out without a length.
	chunked bool
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
	if d.chunked {
		req.ContentLength = -1
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
