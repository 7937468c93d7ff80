package httpapi

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// What is read and thrown away of a body that an answer did not need. Whichever
// comes first ends it, and the connection.
const (
	MaxUnreadBytes = 64 << 20
	UnreadTime     = 10 * time.Second
	// askingTime is what is left to a client that asked whether to send, was
	// told no, and sends all the same.
	askingTime = 500 * time.Millisecond
	// net/http reads fewer than tidyBytes by itself before an answer, so
	// that the connection can go on.
	tidyBytes = 256 << 10
)

// upload is the body of a request, which remembers how far it was read. Only
// the handler's goroutine uses it.
type upload struct {
	io.ReadCloser
	header      http.Header // of the answer
	begun, over bool
}

func (u *upload) Read(b []byte) (int, error) {
	u.begun = true
	n, err := u.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		u.header.Del("Connection")
	}
	u.over = u.over || err != nil
	return n, err
}

// takeUpload puts an upload in the place of a request's body. It returns a
// request of its own, because the server looks at the body of its one, and nil
// for a request that brings nothing, or whose connection has many, each of which
// ends by itself.
//
// Until a large body has been read, its answer says that the connection closes:
// what is left of it must never be taken for the next request.
func takeUpload(w *reply, r *http.Request) (*http.Request, *upload) {
	if r.ContentLength == 0 || r.ProtoMajor != 1 {
		return r, nil
	}
	setReadDeadline(w, UnreadTime)
	if r.ContentLength < 0 || r.ContentLength >= tidyBytes {
		w.Header().Set("Connection", "close")
	}
	own, u := r.WithContext(r.Context()), &upload{ReadCloser: r.Body, header: w.Header()}
	own.Body = u
	return own, u
}

// discard sends the answer, then reads what is left of the body, so that a
// client that sends all before it reads gets the answer: a connection that is
// closed while bytes come in is reset, and what was sent on it is lost. A client
// that waits to be told to continue, and was not, is not asked for the body.
func (u *upload) discard(w *reply, r *http.Request) {
	if u == nil || u.over || w.taken {
		return
	}
	if err := w.FlushError(); err != nil {
		return
	}
	if !u.begun && r.Header.Get("Expect") != "" {
		setReadDeadline(w, askingTime)
		return
	}
	setReadDeadline(w, UnreadTime)
	_, _ = io.CopyN(io.Discard, u, MaxUnreadBytes)
}

// setReadDeadline bounds what the client may take from now on to send the rest.
func setReadDeadline(w *reply, d time.Duration) {
	// Where there is no deadline to set, there is no network to wait for.
	_ = http.NewResponseController(w.ResponseWriter).SetReadDeadline(time.Now().Add(d))
}
