// Command floor is the least that a Go server can do to show one run to many
// readers: no authentication, no typed events, no durability, no slow-reader
// policy. It keeps whole runs in memory, so runs must be bounded.
//
//	POST /run?ch=C&frame=N  follow a model's stream (the body is a script) and
//	                        publish each token in a frame of N bytes
//	GET  /sub?ch=C&after=N  the events after the N-th
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"

	"verbatim/bench/internal/machine"
	"verbatim/bench/internal/upstream"
)

func main() {
	base := flag.String("upstream", "", "the model server, as http://host:port")
	flag.Parse()
	upstream.Exit(machine.RaiseFileLimit())
	s := &server{upstream: *base, client: &http.Client{}, hubs: map[string]*hub{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /run", s.run)
	mux.HandleFunc("GET /sub", s.subscribe)
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	upstream.Exit(upstream.Serve(mux))
}

type server struct {
	upstream string
	client   *http.Client

	mu   sync.Mutex
	hubs map[string]*hub
}

func (s *server) hub(r *http.Request) *hub {
	name := r.URL.Query().Get("ch")
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hubs[name] == nil {
		s.hubs[name] = newHub()
	}
	return s.hubs[name]
}

// run answers once the model's stream is open; publishing goes on after that.
func (s *server) run(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	script, err := upstream.ParseScript(string(text))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	frameBytes, _ := strconv.Atoi(r.URL.Query().Get("frame"))
	in, err := upstream.Call(context.Background(), s.client, s.upstream, bytes.NewReader(upstream.Request(script)))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	go follow(in, s.hub(r), frameBytes)
}

func follow(in io.ReadCloser, h *hub, frameBytes int) {
	defer in.Close()
	err := upstream.Read(in, func(c upstream.Chunk) error {
		if len(c.Choices) > 0 && c.Choices[0].Delta.Content != "" {
			h.publish(c.Choices[0].Delta.Content, frameBytes)
		}
		return nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "the model's stream ended early:", err)
	}
}

func (s *server) subscribe(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.Atoi(r.URL.Query().Get("after"))
	if err != nil {
		after = 0
	}
	h := s.hub(r)
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if err := h.attach(c, max(after, 0)); err != nil {
		c.Close()
	}
}
