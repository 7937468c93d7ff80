// Command upstream is a scripted model server. POST /v1/chat/completions streams
// what the script in the request's last message says; each token carries its
// send time and its number. GET /gate/NAME answers when a stream waits at that
// gate, POST /gate/NAME opens it.
package main

import (
	"encoding/json"
	"net/http"
	"time"

	"verbatim/bench/internal/machine"
	"verbatim/bench/internal/upstream"
)

func main() {
	upstream.Exit(machine.RaiseFileLimit())
	var g gates
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { complete(w, r, &g) })
	mux.HandleFunc("GET /gate/{name}", g.awaitStream)
	mux.HandleFunc("POST /gate/{name}", g.openGate)
	upstream.Exit(upstream.Serve(mux))
}

func complete(w http.ResponseWriter, r *http.Request, g *gates) {
	script, err := read(r)
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": err.Error(), "type": "invalid_request_error"}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := stream{w: w, rc: http.NewResponseController(w), r: r}
	out.flush()
	for i := 1; i <= script.Tokens && out.err == nil; i++ {
		if script.Gate != "" && i == script.Hold+1 {
			out.hold(g.get(script.Gate))
		}
		out.token(script, i)
	}
	if script.Gate != "" && script.Hold >= script.Tokens {
		out.hold(g.get(script.Gate))
	}
	if script.End != "" {
		out.hold(g.get(script.End))
	}
	out.buf = append(out.buf, upstream.Last...)
	out.flush()
}

func read(r *http.Request) (upstream.Script, error) {
	var body struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return upstream.Script{}, err
	}
	if len(body.Messages) == 0 {
		return upstream.Script{}, upstream.ErrScript
	}
	return upstream.ParseScript(body.Messages[len(body.Messages)-1].Content)
}

// stream is one answer under way.
type stream struct {
	w     http.ResponseWriter
	rc    *http.ResponseController
	r     *http.Request
	start time.Time
	buf   []byte
	err   error
}

// token sends one token, in a chunk of its own as model servers do.
func (s *stream) token(script upstream.Script, i int) {
	if s.start.IsZero() {
		s.start = time.Now()
	}
	if script.Rate > 0 {
		due := s.start.Add(time.Duration(float64(i) / script.Rate * float64(time.Second)))
		time.Sleep(time.Until(due))
	}
	s.buf = upstream.AppendToken(s.buf, time.Now().UnixNano(), i)
	s.flush()
}

func (s *stream) hold(g *gate) {
	s.flush()
	g.wait(s.r.Context())
	s.start = time.Time{}
}

func (s *stream) flush() {
	if s.err != nil {
		return
	}
	if _, s.err = s.w.Write(s.buf); s.err == nil {
		s.err = s.rc.Flush()
	}
	s.buf = s.buf[:0]
}
