package httpapi

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"strconv"

	"verbatim/internal/id"
)

// reply is a ResponseWriter that remembers what became of the answer, for the
// log and the figures. It must not be used after its handler has returned.
type reply struct {
	http.ResponseWriter
	status int   // 0 until the head is written
	bytes  int64 // of the body
	// taken reports that a follower's stream took over the connection: what
	// it writes is counted there.
	taken bool
	// native reports that an error is told in the native layer's form.
	native bool

	// What the request was about, where it was about one.
	conversation id.Conversation
	run          id.Run
	surface      string
	fault        string // the id under which a fault was logged
}

// Unwrap lets http.ResponseController reach the connection.
func (w *reply) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *reply) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *reply) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// FlushError sends what was written; it is what http.ResponseController calls.
// It fails with http.ErrNotSupported where the connection can't.
func (w *reply) FlushError() error {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Hijack hands the connection over. It fails with http.ErrNotSupported where
// there is no plain one.
func (w *reply) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.taken = true
		w.status = http.StatusOK
	}
	return c, rw, err
}

// begun reports that the answer can't be replaced by another any more.
func (w *reply) begun() bool { return w.taken || w.status != 0 }

// done is the answer of a command that has nothing else to say.
type done struct {
	OK bool `json:"ok"`
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	return writeBody(w, status, "application/json; charset=utf-8", v)
}

func writeBody(w http.ResponseWriter, status int, contentType string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(status)
	// A client that went away has no use for the rest.
	_, _ = w.Write(b)
	return nil
}

type failure struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
	Code  Kind   `json:"code"`
	// Ref is the id under which the log tells more.
	Ref string `json:"ref,omitempty"`
}

func writeProblem(w *reply, p *Problem) {
	doc := docOf(p.Kind)
	h := w.Header()
	if p.Kind == Unauthenticated {
		h.Set("WWW-Authenticate", `Bearer realm="verbatim"`)
	}
	if p.Allow != "" {
		h.Set("Allow", p.Allow)
	}
	if p.Kind == Unavailable || p.Kind == Limited {
		h.Set("Retry-After", "2")
	}
	// Strings only: encoding can't fail.
	if w.native {
		_ = writeBody(w, doc.Status, problemType, newDetails(doc, p, w.fault))
		return
	}
	_ = writeJSON(w, doc.Status, failure{Error: p.Error(), Code: p.Kind, Ref: w.fault})
}
