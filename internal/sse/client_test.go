package sse

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"verbatim/internal/id"
	"verbatim/internal/memnet"
)

// way is a way to be connected.
type way struct {
	name string
	// proto is what the response must say.
	proto string
	// listen starts a server and returns how to ask it.
	listen func(t testing.TB, h http.Handler) getter
}

type getter func(ctx context.Context, cursor string) (*http.Response, error)

func ways() []way {
	return []way{
		{name: "hijacked", proto: "HTTP/1.1", listen: listenTCP},
		{name: "in memory", proto: "HTTP/1.1", listen: listenMemory},
		{name: "TLS", proto: "HTTP/1.1", listen: func(t testing.TB, h http.Handler) getter { return listenTLS(t, h, false) }},
		{name: "HTTP2", proto: "HTTP/2.0", listen: func(t testing.TB, h http.Handler) getter { return listenTLS(t, h, true) }},
		{name: "HTTP1.0", proto: "HTTP/1.0", listen: listenOld},
		{name: "connection without tries", proto: "HTTP/1.1", listen: listenUntried},
	}
}

func listenTCP(t testing.TB, h http.Handler) getter {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return clientOf(t, srv.URL, &http.Transport{})
}

func listenTLS(t testing.TB, h http.Handler, two bool) getter {
	srv := httptest.NewUnstartedServer(h)
	srv.EnableHTTP2 = two
	srv.Config.ConnContext = ConnContext
	srv.StartTLS()
	t.Cleanup(srv.Close)
	transport := srv.Client().Transport.(*http.Transport).Clone()
	if !two {
		transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
		transport.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	}
	return clientOf(t, srv.URL, transport)
}

func listenMemory(t testing.TB, h http.Handler) getter {
	l := memnet.Listen(0)
	serveOn(t, l, h)
	return clientOf(t, "http://memory", &http.Transport{DialContext: l.DialContext})
}

func listenUntried(t testing.TB, h http.Handler) getter {
	l := memnet.Listen(0)
	serveOn(t, bareListener{l}, h)
	return clientOf(t, "http://memory", &http.Transport{DialContext: l.DialContext})
}

// bareListener hides that its connections can be tried.
type bareListener struct{ net.Listener }

type bareConn struct{ net.Conn }

func (l bareListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return bareConn{c}, nil
}

func serveOn(t testing.TB, l net.Listener, h http.Handler) {
	srv := &http.Server{Handler: h}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		_ = srv.Close()
		_ = l.Close()
		<-done
	})
}

func clientOf(t testing.TB, url string, transport *http.Transport) getter {
	transport.MaxIdleConnsPerHost = -1
	t.Cleanup(transport.CloseIdleConnections)
	return func(ctx context.Context, cursor string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/", nil)
		if err != nil {
			return nil, err
		}
		if cursor != "" {
			req.Header.Set("Last-Event-ID", cursor)
		}
		return transport.RoundTrip(req)
	}
}

func listenOld(t testing.TB, h http.Handler) getter {
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return func(ctx context.Context, cursor string) (*http.Response, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", srv.Listener.Addr().String())
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		fmt.Fprintf(conn, "GET / HTTP/1.0\r\nHost: x\r\nLast-Event-ID: %s\r\n\r\n", cursor)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return nil, err
		}
		resp.Body = closers{resp.Body, conn, stop}
		return resp, nil
	}
}

type closers struct {
	io.ReadCloser
	conn net.Conn
	stop func() bool
}

func (c closers) Close() error {
	c.stop()
	return errors.Join(c.ReadCloser.Close(), c.conn.Close())
}

// handler serves the test's run the way httpapi does.
func handler(s *Server, l *memoryLog) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var cursor *id.Cursor
		if v := r.Header.Get("Last-Event-ID"); v != "" {
			c, err := id.ParseCursor(v)
			if err != nil {
				http.Error(w, "bad cursor", http.StatusBadRequest)
				return
			}
			cursor = &c
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		run := testRun
		if v := r.URL.Query().Get("run"); v != "" {
			run = id.Run(v)
		}
		if err := s.ServeRun(w, r, l.info(run), cursor); err != nil {
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	})
}

// frames reads a stream's frames. Comments count as nothing but must be whole
// blocks.
type frames struct {
	r        *bufio.Reader
	opened   bool
	comments int
}

func framesOf(body io.Reader) *frames { return &frames{r: bufio.NewReader(body)} }

// next returns the next frame with its blank line; io.EOF behind the end of a
// body that ended properly.
func (f *frames) next() (string, error) {
	for {
		block, err := f.block()
		if err != nil {
			return "", err
		}
		switch {
		case !f.opened && block != Head:
			return "", fmt.Errorf("the stream opens with %q", block)
		case !f.opened:
			f.opened = true
		case block == KeepAlive:
			f.comments++
		default:
			return block, checkFrame(block)
		}
	}
}

func (f *frames) block() (string, error) {
	var b strings.Builder
	for {
		line, err := f.r.ReadString('\n')
		if err == io.EOF && (line != "" || b.Len() > 0) {
			return "", fmt.Errorf("the body ends inside a frame: %q", b.String()+line)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(line)
		if line == "\n" {
			return b.String(), nil
		}
	}
}

func checkFrame(block string) error {
	lines := strings.Split(block, "\n")
	if len(lines) != 5 || !strings.HasPrefix(lines[0], "event: ") || !strings.HasPrefix(lines[1], "data: {") || !strings.HasPrefix(lines[2], "id: ") {
		return fmt.Errorf("not a frame: %q", block)
	}
	return nil
}

// rest reads to the end of the stream.
func (f *frames) rest() ([]string, error) {
	var all []string
	for {
		frame, err := f.next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, frame)
	}
}

func cursorOf(frame string) string {
	_, after, _ := strings.Cut(frame, "\nid: ")
	cursor, _, _ := strings.Cut(after, "\n")
	return cursor
}

func seqOf(frame string) int64 {
	_, digits, _ := strings.Cut(cursorOf(frame), "-")
	seq, _ := strconv.ParseInt(digits, 10, 64)
	return seq
}
