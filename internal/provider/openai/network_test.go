package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

// serve is a provider on a real socket.
func serve(t *testing.T, h http.HandlerFunc) *Model {
	t.Helper()
	server := httptest.NewServer(h)
	m, err := New(Config{BaseURL: server.URL + "/v1", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.Close()
		server.Close()
	})
	return m
}

// The provider sees its connection close when the caller is gone, whichever
// way it goes.
func TestAbortClosesTheConnection(t *testing.T) {
	tests := []struct {
		name string
		read func(ctx context.Context, cancel func(), m *Model) error
		want error
	}{
		{"the loop ends", func(ctx context.Context, _ func(), m *Model) error {
			for range m.Stream(ctx, llm.Request{}) {
				break
			}
			return nil
		}, nil},
		{"the context ends", func(ctx context.Context, cancel func(), m *Model) error {
			var last error
			for _, err := range m.Stream(ctx, llm.Request{}) {
				cancel()
				last = err
			}
			return last
		}, context.Canceled},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer listener.Close()
			closed := make(chan error, 1)
			go func() { closed <- silentProvider(listener) }()
			m, err := New(Config{BaseURL: "http://" + listener.Addr().String()})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := test.read(ctx, cancel, m); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err := <-closed; err != nil {
				t.Errorf("the provider's side: %v", err)
			}
		})
	}
}

// silentProvider says one word and waits for its connection to close, for long
// enough that only a lost close is a failure.
func silentProvider(listener net.Listener) error {
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
		return err
	}
	word := events(delta(`"content":"a"`))
	if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 100000\r\n\r\n%s", word); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("the connection stayed open")
	}
	return nil // closed or reset
}

// slowBody delivers its pieces each after a wait, then nothing.
type slowBody struct {
	wait   time.Duration
	pieces []string
	closed chan struct{}
	once   sync.Once
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		<-b.closed
		return 0, io.ErrClosedPipe
	}
	select {
	case <-time.After(b.wait):
	case <-b.closed:
		return 0, io.ErrClosedPipe
	}
	n := copy(p, b.pieces[0])
	b.pieces = b.pieces[1:]
	return n, nil
}

func (b *slowBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return nil
}

func slow(wait time.Duration, pieces ...string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		body := &slowBody{wait: wait, pieces: pieces, closed: make(chan struct{})}
		context.AfterFunc(r.Context(), func() { _ = body.Close() })
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: body}, nil
	}
}

func TestIdle(t *testing.T) {
	tests := []struct {
		name      string
		transport roundTrip
		want      answer
		failure   string
		after     time.Duration
	}{
		{"silence after a word", slow(0, events(delta(`"content":"a"`))), answer{Text: "a"}, "the provider sent nothing for 2m0s", 120 * time.Second},
		{"silence before an answer", func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}, answer{}, "the provider sent nothing for 2m0s", 120 * time.Second},
		{"any byte counts", slow(119*time.Second, ": hi\n", "\n", events(delta(`"content":"a"`), stop, done)), answer{Text: "a", Finish: event.FinishStop}, "", 357*time.Second + drainTime},
		{"silence after the finish", slow(0, events(delta(`"content":"a"`), stop)), answer{Text: "a", Finish: event.FinishStop}, "", afterFinish},
		{"a body that stays open after the end", slow(0, events(delta(`"content":"a"`), stop, done)), answer{Text: "a", Finish: event.FinishStop}, "", drainTime},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				got := ask(t, newModel(t, test.transport))
				check(t, test.name, got, test.want, test.failure)
				if test.failure != "" && got.Err.(*llm.Failure).Code != event.CodeTimeout {
					t.Errorf("got code %q, want timeout", got.Err.(*llm.Failure).Code)
				}
				if took := time.Since(begun); took != test.after {
					t.Errorf("ended after %v, want %v", took, test.after)
				}
			})
		})
	}
}

// A slow reader is no silent provider.
func TestIdleDoesNotCountTheReadersTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newModel(t, slow(time.Second, events(delta(`"content":"a"`)), events(delta(`"content":"b"`), stop, done)))
		var a answer
		for c, err := range m.Stream(t.Context(), llm.Request{}) {
			if err != nil {
				t.Fatal(err)
			}
			a.add(c)
			time.Sleep(time.Hour)
		}
		if a.Text != "ab" {
			t.Errorf("got %q, want ab", a.Text)
		}
	})
}

// 100 streams opened at once against a provider that answers at once lose
// nothing, and the next ones use the same connections.
func TestParallelStreams(t *testing.T) {
	const streams = 100
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).EnableFullDuplex(); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 20 {
			_, _ = io.WriteString(w, events(delta(fmt.Sprintf(`"content":"%d,"`, i))))
			w.(http.Flusher).Flush()
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, events(stop, done))
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	m, err := New(Config{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	long := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: strings.Repeat("x", 64<<10)}}}
	for range 2 {
		var wg sync.WaitGroup
		for range streams {
			wg.Go(func() {
				var a answer
				for c, err := range m.Stream(t.Context(), long) {
					if err != nil {
						t.Errorf("%v", err)
					}
					a.add(c)
				}
				if want := "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,"; a.Text != want || a.Finish != event.FinishStop {
					t.Errorf("got %q and %q", a.Text, a.Finish)
				}
			})
		}
		wg.Wait()
	}
	t.Logf("%d connections for %d streams", connections.Load(), 2*streams)
}

func TestConnectionIsUsedAgain(t *testing.T) {
	var seen sync.Map
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(r.RemoteAddr, true)
		_, _ = io.WriteString(w, events(delta(`"content":"a"`), stop, done))
	})
	for range 5 {
		ask(t, m)
	}
	n := 0
	seen.Range(func(any, any) bool { n++; return true })
	if n == 5 {
		t.Error("every stream opened a connection of its own")
	}
}

func TestDroppedConnection(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, events(delta(`"content":"Half a sen"`)))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	check(t, "dropped", ask(t, m), answer{Text: "Half a sen"}, brokenMessage)
}
