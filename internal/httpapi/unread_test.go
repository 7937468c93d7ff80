package httpapi

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/memnet"
)

// refusal is a request that is answered before its body was read, or in the
// middle of it.
type refusal struct {
	name, line, header string
	want               int
}

// pieces is how much of a body the request brings, in MiB. One that is more than
// any route takes is refused for that first, where it says so.
func (r refusal) pieces() int {
	if r.want == http.StatusRequestEntityTooLarge {
		return 40
	}
	return 12
}

func refusals() []refusal {
	const key = "Authorization: Bearer " + testToken + "\r\n"
	const asJSON = "Content-Type: application/json\r\n"
	return []refusal{
		{"no token", "POST /chat", asJSON, http.StatusUnauthorized},
		{"a foreign page", "POST /chat", key + asJSON + "Origin: https://evil.example\r\n", http.StatusForbidden},
		{"a foreign host", "POST http://evil.example/chat", key + asJSON, http.StatusForbidden},
		{"no such path", "POST /nope", key + asJSON, http.StatusNotFound},
		{"no such method", "PUT /chat", key + asJSON, http.StatusMethodNotAllowed},
		{"too large", "POST /chat", key + asJSON, http.StatusRequestEntityTooLarge},
		{"no JSON", "POST /chat", key + "Content-Type: text/plain\r\n", http.StatusUnsupportedMediaType},
		{"a bad cursor", "POST /chat?after=x", key + asJSON, 0},
		{"not asked for", "GET /chats", key, 0},
	}
}

// framings are the ways in which a body says where it ends.
var framings = []struct {
	name, proto string
	chunked     bool
}{
	{"length", "HTTP/1.1", false},
	{"chunked", "HTTP/1.1", true},
	{"old", "HTTP/1.0", false},
}

const pieceBytes = 1 << 20

// writeUpload sends a request whole, without looking at what comes back. between
// is called before each piece of the body.
func writeUpload(c net.Conn, r refusal, proto string, chunked bool, between func()) error {
	n := r.pieces()
	framing := fmt.Sprintf("Content-Length: %d\r\n", n*pieceBytes)
	if chunked {
		framing = "Transfer-Encoding: chunked\r\n"
	}
	if _, err := fmt.Fprintf(c, "%s %s\r\nHost: localhost\r\n%s%s\r\n", r.line, proto, r.header, framing); err != nil {
		return err
	}
	piece := bytes.Repeat([]byte("x"), pieceBytes)
	if chunked {
		piece = fmt.Appendf(nil, "%x\r\n%s\r\n", pieceBytes, piece)
	}
	for range n {
		between()
		if _, err := c.Write(piece); err != nil {
			return err
		}
	}
	if chunked {
		_, err := io.WriteString(c, "0\r\n\r\n")
		return err
	}
	return nil
}

// wantWhole reads one answer, which must be all there and JSON.
func wantWhole(t *testing.T, c net.Conn, want int) {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal("no answer: ", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatalf("the answer broke off after %q: %v", body, err)
	}
	if want != 0 && res.StatusCode != want {
		t.Errorf("status = %d, want %d: %s", res.StatusCode, want, body)
	}
	if !bytes.HasPrefix(body, []byte("{")) || !bytes.HasSuffix(body, []byte("}\n")) {
		t.Errorf("answer = %q", body)
	}
}

// A client that sends all before it reads must get the answer, however slowly it
// sends: the server that answers and goes away resets the connection.
func TestSlowWriterGetsTheRefusal(t *testing.T) {
	for _, f := range framings {
		for _, r := range refusals() {
			t.Run(f.name+"/"+r.name, func(t *testing.T) {
				overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
					c, err := l.Dial(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer func() { _ = c.Close() }()
					pause := func() { time.Sleep(150 * time.Millisecond) }
					if err := writeUpload(c, r, f.proto, f.chunked, pause); err != nil {
						t.Fatal("the client could not send all: ", err)
					}
					wantWhole(t, c, r.want)
					if len(w.sent) > 0 {
						t.Error("it was sent")
					}
				})
			})
		}
	}
}

// The same on sockets, where the system decides what a reset takes away.
func TestWriterOnASocketGetsTheRefusal(t *testing.T) {
	_, api := newWorld(t, nil)
	srv := NewServer(api, slog.New(slog.DiscardHandler))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error)
	go func() { served <- srv.Serve(l) }()
	defer func() {
		_ = srv.Close()
		<-served
	}()
	for _, f := range framings {
		for _, r := range refusals() {
			t.Run(f.name+"/"+r.name, func(t *testing.T) {
				c, err := net.Dial("tcp", l.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				if err := writeUpload(c, r, f.proto, f.chunked, func() {}); err != nil {
					t.Fatal("the client could not send all: ", err)
				}
				wantWhole(t, c, r.want)
			})
		}
	}
}

// What is thrown away is bounded in bytes and in time.
func TestUnreadBodyIsBounded(t *testing.T) {
	const open = "POST /nope HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n"
	t.Run("in bytes", func(t *testing.T) {
		overNet(t, func(t *testing.T, _ *world, l *memnet.Listener) {
			c := dial(t, l, open)
			defer func() { _ = c.Close() }()
			piece := fmt.Appendf(nil, "%x\r\n%s\r\n", pieceBytes, bytes.Repeat([]byte("x"), pieceBytes))
			sent, err := 0, error(nil)
			for err == nil && sent < 2*MaxUnreadBytes {
				_, err = c.Write(piece)
				sent += pieceBytes
			}
			if err == nil || sent < MaxUnreadBytes {
				t.Errorf("%d bytes were taken (%v), want %d and no more", sent, err, MaxUnreadBytes)
			}
		})
	})
	t.Run("in time", func(t *testing.T) {
		overNet(t, func(t *testing.T, _ *world, l *memnet.Listener) {
			c := dial(t, l, open)
			defer func() { _ = c.Close() }()
			began := time.Now()
			var err error
			for err == nil && time.Since(began) < time.Minute {
				time.Sleep(100 * time.Millisecond)
				_, err = io.WriteString(c, "1\r\nx\r\n")
			}
			// net/http lingers half a second.
			if took := time.Since(began); took < UnreadTime || took > UnreadTime+time.Second {
				t.Errorf("it was read for %v, want %v", took, UnreadTime)
			}
		})
	})
}

// Who asks first whether to send is answered without being told to.
func TestWhoAsksFirstIsNotToldToSend(t *testing.T) {
	overNet(t, func(t *testing.T, _ *world, l *memnet.Listener) {
		began := time.Now()
		c := dial(t, l, "POST /nope HTTP/1.1\r\n"+head+"Content-Length: 15\r\nExpect: 100-continue\r\n\r\n")
		defer func() { _ = c.Close() }()
		said, err := io.ReadAll(c)
		if err != nil || !strings.HasPrefix(string(said), "HTTP/1.1 404 ") || strings.Contains(string(said), "100 Continue") {
			t.Errorf("got %q, %v", said, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it waited %v for what was not to come", took)
		}
	})
	overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
		c := dial(t, l, "POST /chat HTTP/1.1\r\n"+head+"Content-Length: 15\r\nExpect: 100-continue\r\n\r\n")
		defer func() { _ = c.Close() }()
		told := make([]byte, len("HTTP/1.1 100 Continue\r\n\r\n"))
		if _, err := io.ReadFull(c, told); err != nil || string(told) != "HTTP/1.1 100 Continue\r\n\r\n" {
			t.Fatalf("got %q, %v", told, err)
		}
		if _, err := io.WriteString(c, goodBody); err != nil {
			t.Fatal(err)
		}
		if res, _ := answerOn(t, c); res.StatusCode != http.StatusOK || len(w.sent) != 1 {
			t.Errorf("status = %d, sent %v", res.StatusCode, w.sent)
		}
	})
}

// What is left of a body is never taken for a request: the client is told that
// the connection closes.
func TestRestOfABodyIsNoRequest(t *testing.T) {
	const next = "GET /chats HTTP/1.1\r\n" + head + "\r\n"
	for name, framing := range map[string]string{
		"length": fmt.Sprintf("Content-Length: %d\r\n", tidyBytes), "small": "Content-Length: 1000\r\n",
		"chunked": "Transfer-Encoding: chunked\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			overNet(t, func(t *testing.T, w *world, l *memnet.Listener) {
				c := dial(t, l, "POST /nope HTTP/1.1\r\n"+head+framing+"\r\n")
				defer func() { _ = c.Close() }()
				time.Sleep(UnreadTime)
				if _, err := io.WriteString(c, next); err != nil {
					return
				}
				said, _ := io.ReadAll(c)
				if !strings.HasPrefix(string(said), "HTTP/1.1 404 ") || strings.Count(string(said), "HTTP/1.1 ") != 1 ||
					!strings.Contains(string(said), "\r\nConnection: close\r\n") {
					t.Errorf("got %q", said)
				}
				synctest.Wait()
				if strings.Contains(w.logs.String(), `"route":"/chats"`) {
					t.Error("the rest was served as a request")
				}
			})
		})
	}
}

// A connection whose body was thrown away whole takes the next request, and so
// does one whose large body was read.
func TestConnectionGoesOn(t *testing.T) {
	overNet(t, func(t *testing.T, _ *world, l *memnet.Listener) {
		body := `{"prompt":"x","pad":"` + strings.Repeat("x", 1<<20) + `"}`
		c := dial(t, l, fmt.Sprintf("POST /chat HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", head, len(body), body))
		defer func() { _ = c.Close() }()
		if res, _ := answerOn(t, c); res.StatusCode != http.StatusOK || res.Close {
			t.Errorf("status = %d, closes %v", res.StatusCode, res.Close)
		}
	})
	overNet(t, func(t *testing.T, _ *world, l *memnet.Listener) {
		body := strings.Repeat("x", tidyBytes-1)
		c := dial(t, l, fmt.Sprintf("POST /nope HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", head, len(body), body))
		defer func() { _ = c.Close() }()
		if res, _ := answerOn(t, c); res.StatusCode != http.StatusNotFound || res.Close {
			t.Errorf("status = %d, closes %v", res.StatusCode, res.Close)
		}
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if res, _ := answerOn(t, c); res.StatusCode != http.StatusOK {
			t.Errorf("the next request = %d", res.StatusCode)
		}
	})
}
