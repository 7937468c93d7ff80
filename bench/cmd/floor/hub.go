package main

import (
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// hub is one run: an append-only log of framed bytes, and followers that are
// offsets into it. One goroutine sends each follower all bytes that it does not
// have in one write, so that events wait for each other only when a socket, or
// the writer itself, is behind.
type hub struct {
	mu        sync.Mutex
	log       []byte // bytes below a length that was seen never change
	starts    []int  // where each event begins
	followers []*follower
	wake      chan struct{}
}

// follower is a socket that net/http has let go.
type follower struct {
	fd   int
	conn net.Conn // kept so that the descriptor is not closed
	at   int
	dead bool
}

func newHub() *hub {
	h := &hub{wake: make(chan struct{}, 1)}
	go h.write()
	return h
}

// publish appends an event, padded so that it takes frameBytes on the wire.
func (h *hub) publish(text string, frameBytes int) {
	h.mu.Lock()
	h.starts = append(h.starts, len(h.log))
	h.log = appendFrame(h.log, text, len(h.starts), frameBytes)
	h.mu.Unlock()
	h.signal()
}

func (h *hub) signal() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// appendFrame writes one event as one HTTP chunk. With padding its size line
// has two or three digits.
func appendFrame(b []byte, text string, seq, frameBytes int) []byte {
	var d [20]byte
	id := strconv.AppendInt(d[:0], int64(seq), 10)
	body := len("data: ") + len(text) + len("\nid: ") + len(id) + len("\n\n")
	padding := max(0, frameBytes-body-len("ff\r\n\r\n"))
	b = strconv.AppendInt(b, int64(body+padding), 16)
	b = append(append(b, "\r\ndata: "...), text...)
	for range padding {
		b = append(b, 'x')
	}
	b = append(append(b, "\nid: "...), id...)
	return append(b, "\n\n\r\n"...)
}

// head is written to every follower before its events.
const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n"

// attach adds a follower that has seen after events.
func (h *hub) attach(c net.Conn, after int) error {
	fd, err := descriptor(c)
	if err != nil {
		return err
	}
	if _, err := c.Write([]byte(head)); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &follower{fd: fd, conn: c, at: len(h.log)}
	if after < len(h.starts) {
		f.at = h.starts[after]
	}
	h.followers = append(h.followers[:len(h.followers):len(h.followers)], f)
	h.signal()
	return nil
}

func descriptor(c net.Conn) (int, error) {
	rc, err := c.(*net.TCPConn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var fd int
	err = rc.Control(func(f uintptr) { fd = int(f) })
	return fd, err
}

// write is the only writer to followers.
func (h *hub) write() {
	for range h.wake {
		for h.sweep() {
			// A full socket gets a little time to drain.
			time.Sleep(200 * time.Microsecond)
		}
	}
}

// sweep writes to each follower once and reports whether one is still behind.
func (h *hub) sweep() (behind bool) {
	h.mu.Lock()
	followers, log := h.followers, h.log
	h.mu.Unlock()
	for _, f := range followers {
		if f.dead || f.at == len(log) {
			continue
		}
		n, err := syscall.Write(f.fd, log[f.at:])
		switch err {
		case nil:
			f.at += n
		case syscall.EAGAIN, syscall.EINTR:
		default:
			f.dead = true
			f.conn.Close()
			continue
		}
		behind = behind || f.at < len(log)
	}
	return behind
}
