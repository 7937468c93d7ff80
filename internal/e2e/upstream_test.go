package e2e

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// upstream is a model server that speaks the compatible protocol and answers
// as the test says.
type upstream struct {
	server *httptest.Server
	answer func(ask) []step

	closing chan struct{}
	mu      sync.Mutex
	asks    []ask
}

// ask is one request to the model.
type ask struct {
	// Prompt is the last thing the person said; Round counts the answers
	// that the model has given to it already.
	Prompt string
	Round  int
	// Nth counts the requests with this prompt and round from 0: more than
	// one means that it was asked again.
	Nth      int
	Messages []message
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

func (m message) text() string {
	var s string
	if json.Unmarshal(m.Content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(m.Content, &parts)
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// newUpstream starts a model server that asks answer, from many goroutines,
// what to play.
func newUpstream(t testing.TB, answer func(ask) []step) *upstream {
	t.Helper()
	u := &upstream{answer: answer, closing: make(chan struct{})}
	u.server = httptest.NewServer(u)
	t.Cleanup(func() {
		close(u.closing)
		u.server.Close()
	})
	return u
}

// baseURL is what OPENAI_BASE_URL must be.
func (u *upstream) baseURL() string { return u.server.URL + "/v1" }

// asked returns all requests so far.
func (u *upstream) asked() []ask {
	u.mu.Lock()
	defer u.mu.Unlock()
	return append([]ask(nil), u.asks...)
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Messages []message }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p := &player{w: w, r: r, closing: u.closing}
	for _, s := range u.answer(u.note(body.Messages)) {
		if err := s(p); err != nil {
			return
		}
	}
}

func (u *upstream) note(messages []message) ask {
	a := ask{Messages: messages}
	for _, m := range messages {
		switch m.Role {
		case "user":
			a.Prompt, a.Round = m.text(), 0
		case "assistant":
			a.Round++
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, other := range u.asks {
		if other.Prompt == a.Prompt && other.Round == a.Round {
			a.Nth++
		}
	}
	u.asks = append(u.asks, a)
	return a
}

// player is an answer under way.
type player struct {
	w       http.ResponseWriter
	r       *http.Request
	closing chan struct{}
	begun   bool
}

// step is the next thing that the model server does. An error ends the answer.
type step func(*player) error

var errGone = errors.New("nobody waits for the answer any more")

func (p *player) send(b []byte) error {
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", "text/event-stream")
	}
	if _, err := p.w.Write(b); err != nil {
		return err
	}
	return http.NewResponseController(p.w).Flush()
}

// raw sends bytes as they are, as one write.
func raw(b []byte) step { return func(p *player) error { return p.send(b) } }

func chunk(choice map[string]any) step { return raw(chunkBytes(choice)) }

func chunkBytes(choice map[string]any) []byte {
	b, err := json.Marshal(map[string]any{
		"id": "x", "object": "chat.completion.chunk", "model": "fake", "choices": []any{choice},
	})
	if err != nil {
		panic(err)
	}
	return []byte("data: " + string(b) + "\n\n")
}

func delta(d map[string]any) map[string]any {
	return map[string]any{"index": 0, "delta": d, "finish_reason": nil}
}

// say sends text, think reasoning.
func say(text string) step   { return chunk(delta(map[string]any{"content": text})) }
func think(text string) step { return chunk(delta(map[string]any{"reasoning_content": text})) }

// call asks for a tool.
func call(id, name, args string) step {
	return chunk(delta(map[string]any{"tool_calls": []any{map[string]any{
		"index": 0, "id": id, "type": "function", "function": map[string]any{"name": name, "arguments": args},
	}}}))
}

const done = "data: [DONE]\n\n"

// finish ends an answer: the reason, then the usage, then the mark.
func finish(reason string) step {
	end := chunkBytes(map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": reason})
	usage := `data: {"id":"x","object":"chat.completion.chunk","model":"fake","choices":[],` +
		`"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}` + "\n\n"
	return raw([]byte(string(end) + usage + done))
}

// hold waits until the gate opens.
func hold(gate <-chan struct{}) step {
	return func(p *player) error {
		select {
		case <-gate:
			return nil
		case <-p.r.Context().Done():
		case <-p.closing:
		}
		return errGone
	}
}

// never is a gate that does not open: the answer hangs until it is given up.
func never() step { return hold(nil) }

// tell signals that the answer has come this far. The channel must have room.
func tell(c chan<- struct{}) step {
	return func(*player) error {
		select {
		case c <- struct{}{}:
		default:
		}
		return nil
	}
}

// drop cuts the connection.
func drop() step {
	return func(p *player) error {
		conn, _, err := http.NewResponseController(p.w).Hijack()
		if err != nil {
			return err
		}
		_ = conn.(*net.TCPConn).SetLinger(0)
		_ = conn.Close()
		return io.ErrClosedPipe
	}
}

// refuse answers with a status and an error in the provider's form.
func refuse(status int, kind, text string) step {
	return func(p *player) error {
		p.w.Header().Set("Content-Type", "application/json")
		p.w.WriteHeader(status)
		return json.NewEncoder(p.w).Encode(map[string]any{"error": map[string]any{"message": text, "type": kind}})
	}
}
