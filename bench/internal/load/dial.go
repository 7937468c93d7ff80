// Package load is a client for thousands of event streams: raw sockets, one
// epoll loop, and a check that every token comes once and in order. It costs
// about the same for every server, so that servers can be compared.
package load

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"syscall"
	"time"
)

// Request is a request as bytes, and how far its answer is read before the
// stream counts as open.
type Request struct {
	Addr  string // host:port of a loopback address
	Bytes []byte
	// Wait is found in the answer's body once the reader is attached;
	// empty: the end of the head is enough.
	Wait string
	// From is the number of the last token that is known already, IDFrom
	// its SSE id.
	From, IDFrom int64
}

// Post makes a POST of JSON. Each header is a whole line without its end.
func Post(addr, path string, body []byte, headers ...string) Request {
	b := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: %d\r\n", path, addr, len(body))
	return finish(addr, b, body, headers)
}

// Get makes a GET.
func Get(addr, path string, headers ...string) Request {
	b := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\n", path, addr)
	return finish(addr, b, nil, headers)
}

func finish(addr string, b, body []byte, headers []string) Request {
	for _, h := range headers {
		b = append(append(b, h...), "\r\n"...)
	}
	b = append(b, "\r\n"...)
	return Request{Addr: addr, Bytes: append(b, body...)}
}

// handshakeTimeout bounds each read and write until the stream is open.
const handshakeTimeout = 20 * time.Second

// Stream is one open stream. It is owned by whoever reads it.
type Stream struct {
	scanner
	fd  int
	dec *dechunk
	buf []byte
}

// Open connects, sends the request and waits until the stream is open. The
// tokens that came meanwhile are counted.
func Open(r Request) (*Stream, error) {
	fd, err := connect(r.Addr)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", r.Addr, err)
	}
	s := &Stream{fd: fd, scanner: scanner{last: r.From, lastID: r.IDFrom}}
	if err := s.handshake(r); err != nil {
		syscall.Close(fd)
		return nil, err
	}
	return s, nil
}

func connect(addr string) (int, error) {
	ap, err := netip.ParseAddrPort(addr)
	if err != nil {
		return 0, err
	}
	if !ap.Addr().Is4() || !ap.Addr().IsLoopback() {
		return 0, errors.New("only 127.0.0.0/8 is used here")
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	tv := syscall.NsecToTimeval(int64(handshakeTimeout))
	err = errors.Join(
		syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, syscall.TCP_NODELAY, 1),
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &tv),
		syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_SNDTIMEO, &tv),
	)
	if err == nil {
		err = connectTo(fd, &syscall.SockaddrInet4{Port: int(ap.Port()), Addr: ap.Addr().As4()})
	}
	if err != nil {
		syscall.Close(fd)
		return 0, err
	}
	return fd, nil
}

// connectTo goes on after a signal, which leaves a connection under way.
func connectTo(fd int, to syscall.Sockaddr) error {
	for {
		switch err := syscall.Connect(fd, to); err {
		case syscall.EINTR, syscall.EALREADY:
		case syscall.EISCONN:
			return nil
		default:
			return err
		}
	}
}

func (s *Stream) handshake(r Request) error {
	if err := writeAll(s.fd, r.Bytes); err != nil {
		return fmt.Errorf("send the request: %w", err)
	}
	body, err := s.head()
	if err != nil {
		return err
	}
	for !bytes.Contains(body, []byte(r.Wait)) {
		b := make([]byte, 8192)
		n, err := read(s.fd, b)
		if n <= 0 {
			return fmt.Errorf("waiting for %q: %w; got %q", r.Wait, orEOF(err), tail(body))
		}
		s.Bytes += int64(n)
		body = append(body, s.dec.decode(b[:n])...)
	}
	s.scan(body)
	return nil
}

// head reads the answer's head and returns what came after it.
func (s *Stream) head() ([]byte, error) {
	var acc []byte
	b := make([]byte, 8192)
	for {
		n, err := read(s.fd, b)
		if n <= 0 {
			return nil, fmt.Errorf("waiting for the answer: %w; got %q", orEOF(err), tail(acc))
		}
		acc = append(acc, b[:n]...)
		head, body, ok := bytes.Cut(acc, []byte("\r\n\r\n"))
		if !ok {
			continue
		}
		if !bytes.HasPrefix(head, []byte("HTTP/1.1 200 ")) {
			return nil, fmt.Errorf("the answer was %q", tail(acc))
		}
		if bytes.Contains(bytes.ToLower(head), []byte("transfer-encoding: chunked")) {
			s.dec = &dechunk{}
		}
		s.Bytes += int64(len(body))
		return s.dec.decode(body), nil
	}
}

// Ended reports that the stream's last chunk came: nothing was cut off.
func (s *Stream) Ended() bool { return s.dec != nil && s.dec.done }

// ReadUntil reads until done says so, the stream ends, or a read fails.
func (s *Stream) ReadUntil(done func(*Stream) bool) error {
	if s.buf == nil {
		s.buf = make([]byte, 1<<17)
	}
	for !done(s) {
		n, err := read(s.fd, s.buf)
		if n <= 0 {
			return fmt.Errorf("the stream was cut off after %d events: %w", s.Events, orEOF(err))
		}
		s.take(s.buf[:n])
	}
	return nil
}

func (s *Stream) take(b []byte) {
	s.Bytes += int64(len(b))
	s.scan(s.dec.decode(b))
}

// Cursor returns where the stream stands: the number of the last token, its SSE
// id and the epoch that stood before it, empty where ids have none.
func (s *Stream) Cursor() (token, id int64, epoch string) { return s.last, s.lastID, s.epoch }

// Close closes the connection.
func (s *Stream) Close() { syscall.Close(s.fd) }

func read(fd int, b []byte) (int, error) {
	for {
		n, err := syscall.Read(fd, b)
		if err != syscall.EINTR {
			return n, err
		}
	}
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func orEOF(err error) error {
	if err == nil {
		return errors.New("the connection was closed")
	}
	return err
}

func tail(b []byte) []byte { return b[max(0, len(b)-400):] }
