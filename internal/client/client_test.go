package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// story is a run of n deltas and an end, as frames by seq.
func frame(seq, n int) string {
	name := "delta"
	switch seq {
	case 1:
		name = "start"
	case n:
		name = "end"
	}
	return fmt.Sprintf("event: %s\ndata: {\"seq\":%d}\nid: e1-%d\n\n", name, seq, seq)
}

// flaky serves the story and drops each connection after so many bytes.
func flaky(t *testing.T, n, most int) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		after := 0
		if id := r.Header.Get("Last-Event-ID"); id != "" {
			after, _ = strconv.Atoi(strings.TrimPrefix(id, "e1-"))
		}
		var b strings.Builder
		b.WriteString("retry: 2000\n\n: keep-alive\n\n")
		for seq := after + 1; seq <= n; seq++ {
			b.WriteString(frame(seq, n))
		}
		text := b.String()
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		w.Write([]byte(text[:min(most, len(text))]))
	}))
	t.Cleanup(s.Close)
	return &Client{Base: s.URL, Token: "secret", HTTP: s.Client()}
}

func TestChatFetchesTheRest(t *testing.T) {
	const n = 6
	for _, most := range []int{len("retry: 2000\n\n: keep-alive\n\n") + len(frame(1, n)), 100, 150, 1 << 20} {
		t.Run(fmt.Sprintf("dropped after %d bytes", most), func(t *testing.T) {
			var got []string
			for e, err := range flaky(t, n, most).Chat(t.Context(), Prompt{Text: "x", Run: "r1"}) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, e.Name+" "+e.ID)
			}
			want := []string{"start e1-1", "delta e1-2", "delta e1-3", "delta e1-4", "delta e1-5", "end e1-6"}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("(-got +want)\n%s", diff)
			}
		})
	}
}

func TestChatTellsARefusal(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		w.Write([]byte(`{"ok":false,"error":"The conversation is busy.","code":"conflict"}`))
	}))
	defer s.Close()
	c := &Client{Base: s.URL, HTTP: s.Client()}
	for _, err := range c.Chat(t.Context(), Prompt{Text: "x", Run: "r1"}) {
		refused, ok := errors.AsType[*Refused](err)
		if !ok {
			t.Fatalf("got %v", err)
		}
		if diff := cmp.Diff(*refused, Refused{409, "conflict", "The conversation is busy."}); diff != "" {
			t.Errorf("(-got +want)\n%s", diff)
		}
	}
}

func TestChatEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for _, err := range flaky(t, 6, 100).Chat(ctx, Prompt{Text: "x", Run: "r1"}) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("got %v", err)
			}
			return
		}
		cancel()
	}
	t.Error("the loop ended without an error")
}

func TestCalls(t *testing.T) {
	var seen []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
		}
		seen = append(seen, fmt.Sprint(r.Method, " ", r.URL.Path, " ", body))
		w.Write([]byte(`{"ok":true,"url":"http://x/launch?code=1"}`))
	}))
	defer s.Close()
	c := &Client{Base: s.URL, HTTP: s.Client()}
	if err := c.Health(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Cancel(t.Context(), "r1"); err != nil {
		t.Error(err)
	}
	link, err := c.Link(t.Context())
	if err != nil || link != "http://x/launch?code=1" {
		t.Errorf("got %q, %v", link, err)
	}
	want := []string{"GET /health map[]", "POST /cancel map[run_id:r1]", "POST /link map[]"}
	if diff := cmp.Diff(seen, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

func TestHealthWithoutServer(t *testing.T) {
	s := httptest.NewServer(nil)
	s.Close()
	if err := (&Client{Base: s.URL, HTTP: http.DefaultClient}).Health(t.Context()); err == nil {
		t.Error("got no error")
	}
}
