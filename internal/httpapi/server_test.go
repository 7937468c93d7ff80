package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/memnet"
)

// overNet runs a test against a server on a network in memory, in virtual time.
func overNet(t *testing.T, test func(t *testing.T, w *world, l *memnet.Listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w, api := newWorld(t, func(o *Options) { o.Now = time.Now })
		l := memnet.Listen(0)
		srv := NewServer(api, slog.New(slog.DiscardHandler))
		served := make(chan error)
		go func() { served <- srv.Serve(l) }()
		test(t, w, l)
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		<-served
		time.Sleep(time.Second) // net/http lingers half a second on connections it cuts off
	})
}

func dial(t *testing.T, l *memnet.Listener, text string) *memnet.Conn {
	t.Helper()
	c, err := l.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

func answerOn(t *testing.T, c *memnet.Conn) (*http.Response, string) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

const head = "Host: localhost\r\nAuthorization: Bearer " + testToken + "\r\nContent-Type: application/json\r\n"

func TestHalfABodyStartsNothing(t *testing.T) {
	t.Run("it stalls", func(t *testing.T) {
		overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
			began := time.Now()
			c := dial(t, l, "POST /chat HTTP/1.1\r\n"+head+"Content-Length: 15\r\n\r\n"+`{"prompt":`)
			defer func() { _ = c.Close() }()
			res, body := answerOn(t, c)
			if res.StatusCode != http.StatusBadRequest || !strings.Contains(body, `"ok":false`) {
				t.Errorf("answer = %d %s", res.StatusCode, body)
			}
			if took := time.Since(began); took != BodyTime {
				t.Errorf("it was given %v, want %v", took, BodyTime)
			}
			if len(w.sent) > 0 {
				t.Errorf("sent %v", w.sent)
			}
		})
	})
	t.Run("it stalls before a refusal", func(t *testing.T) {
		overNet(t, func(t *testing.T, _ *world, l *memnet.Listener) {
			began := time.Now()
			c := dial(t, l, "POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n")
			defer func() { _ = c.Close() }()
			if res, _ := answerOn(t, c); res.StatusCode != http.StatusUnauthorized {
				t.Errorf("status = %d", res.StatusCode)
			}
			if took := time.Since(began); took > UnreadTime {
				t.Errorf("it held the connection for %v", took)
			}
		})
	})
	t.Run("it breaks off", func(t *testing.T) {
		overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
			c := dial(t, l, "POST /chat HTTP/1.1\r\n"+head+"Content-Length: 15\r\n\r\n"+`{"prompt":`)
			if err := c.Close(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if len(w.sent) > 0 {
				t.Errorf("sent %v", w.sent)
			}
		})
	})
}

func TestBodyDeadlineDoesNotReachTheStream(t *testing.T) {
	overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
		w.use = func(rw http.ResponseWriter, r *http.Request) error {
			time.Sleep(2 * BodyTime)
			if err := r.Context().Err(); err != nil {
				t.Errorf("the client counts as gone: %v", err)
			}
			_, err := io.WriteString(rw, "late")
			return err
		}
		c := dial(t, l, "POST /chat HTTP/1.1\r\n"+head+"Content-Length: 15\r\n\r\n"+goodBody)
		defer func() { _ = c.Close() }()
		if res, body := answerOn(t, c); res.StatusCode != http.StatusOK || body != "late" {
			t.Errorf("answer = %d %q", res.StatusCode, body)
		}
	})
}

func TestSlowHeadIsCutOff(t *testing.T) {
	overNet(t, func(t *testing.T, _ *world, l *memnet.Listener) {
		began := time.Now()
		c := dial(t, l, "GET /health HTTP/1.1\r\nHost: local")
		defer func() { _ = c.Close() }()
		if _, err := io.ReadAll(c); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != HeaderTime {
			t.Errorf("it was given %v, want %v", took, HeaderTime)
		}
	})
}

func TestHugeHeadIsRefused(t *testing.T) {
	overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
		// net/http allows a few KiB more than it is told.
		c, err := l.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		go func() {
			_, _ = fmt.Fprintf(c, "POST /chat HTTP/1.1\r\n%sX: %s\r\nContent-Length: 15\r\n\r\n%s", head, strings.Repeat("x", MaxHeaderBytes+8<<10), goodBody)
		}()
		if res, _ := answerOn(t, c); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status = %d, want 431", res.StatusCode)
		}
		if len(w.sent) > 0 {
			t.Error("it was sent")
		}
	})
}

func TestHostOfTheRequestLineCounts(t *testing.T) {
	overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
		c := dial(t, l, "GET http://evil.example/chats HTTP/1.1\r\n"+head+"\r\n")
		defer func() { _ = c.Close() }()
		if res, body := answerOn(t, c); res.StatusCode != http.StatusForbidden || !strings.Contains(body, `"denied"`) {
			t.Errorf("answer = %d %s", res.StatusCode, body)
		}
		old := dial(t, l, "GET /chats HTTP/1.0\r\nAuthorization: Bearer "+testToken+"\r\n\r\n")
		defer func() { _ = old.Close() }()
		if res, _ := answerOn(t, old); res.StatusCode != http.StatusForbidden {
			t.Errorf("HTTP/1.0 without a host = %d, want 403", res.StatusCode)
		}
	})
}

// TestWriterReachesTheConnection: what sse does with the connection must work
// through the writer that counts.
func TestWriterReachesTheConnection(t *testing.T) {
	taken := func(rw http.ResponseWriter, _ *http.Request) error {
		c, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			return err
		}
		_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
		_ = c.Close()
		return err
	}
	flushed := func(rw http.ResponseWriter, _ *http.Request) error {
		ctl := http.NewResponseController(rw)
		if err := ctl.SetWriteDeadline(time.Now().Add(time.Hour)); err != nil {
			return err
		}
		if err := ctl.Flush(); err != nil {
			return err
		}
		_, err := io.WriteString(rw, "ok")
		return err
	}
	for name, use := range map[string]func(http.ResponseWriter, *http.Request) error{"hijacked": taken, "flushed": flushed} {
		t.Run(name, func(t *testing.T) {
			overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
				w.use = use
				c := dial(t, l, "POST /chat HTTP/1.1\r\n"+head+"Content-Length: 15\r\n\r\n"+goodBody)
				defer func() { _ = c.Close() }()
				if res, body := answerOn(t, c); res.StatusCode != http.StatusOK || body != "ok" {
					t.Errorf("answer = %d %q", res.StatusCode, body)
				}
				synctest.Wait()
				if got := strings.Contains(w.logs.String(), `"following":true`); got != (name == "hijacked") {
					t.Errorf("the log says following: %v\n%s", got, &w.logs)
				}
			})
		})
	}
}
