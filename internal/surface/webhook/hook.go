package webhook

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"

	"verbatim/internal/surface"
)

// maxBodyBytes is the longest body that is read.
const maxBodyBytes = 16 << 20

// problem is a request that is not taken, with what its sender is told.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

// ServeHook takes one message. The answer is 202 and what became of it, the same
// for the same message; 401 for a signature that is missing, wrong or old, which
// says no more; 404 where no secret is configured; 503 when it could not be
// stored, so that the sender tries again; another 4xx for what can't be read.
func (h *hook) ServeHook(w http.ResponseWriter, r *http.Request, in surface.Inbox) {
	m, err := h.read(w, r)
	if err != nil {
		refuse(w, err)
		return
	}
	if m == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	ack, err := in.Receive(r.Context(), *m)
	if err != nil {
		refuse(w, &problem{http.StatusServiceUnavailable, "the message could not be stored; nothing was taken, send it again"})
		return
	}
	reply(w, http.StatusAccepted, ack)
}

// read returns the message of a request; none for a ping.
func (h *hook) read(w http.ResponseWriter, r *http.Request) (*surface.Message, error) {
	switch {
	case h.signer == nil:
		return nil, &problem{http.StatusNotFound, "this webhook is not configured for inbound messages; set its secret in verbatim.yaml"}
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		return nil, &problem{http.StatusMethodNotAllowed, "only POST is taken here"}
	}
	claim, err := h.signer.proof(r.Header)
	if err != nil {
		return nil, err
	}
	body, err := readBody(w, r)
	switch {
	case err != nil:
		return nil, err
	case !claim.good(body):
		return nil, errUnsigned
	case claim.ping:
		return nil, nil
	}
	return h.message(r, body, claim)
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "" {
		return nil, &problem{http.StatusUnsupportedMediaType, "the body must not be compressed"}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err == nil {
		return body, nil
	}
	if _, long := errors.AsType[*http.MaxBytesError](err); long {
		return nil, &problem{http.StatusRequestEntityTooLarge, "the body is longer than 16 MiB; nothing was taken"}
	}
	return nil, &problem{http.StatusBadRequest, "the body did not arrive whole; nothing was taken"}
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusUnauthorized
	if p, ok := errors.AsType[*problem](err); ok {
		status = p.status
	}
	reply(w, status, struct {
		Error string `json:"error"`
	}{err.Error()})
}

func reply(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"error":"the answer could not be written"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body)
}
