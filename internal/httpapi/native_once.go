package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"net/http"
	"strconv"
	"strings"
	"time"

	"verbatim/internal/id"
)

// Answer is what a request under an idempotency key was answered.
type Answer struct {
	// Hash is that of the request.
	Hash   string
	Status int
	// Type is the content type of Body.
	Type string
	Body []byte
	// Conversation is the one whose text Body may hold, empty for none: an
	// erasure in it takes the answer along.
	Conversation id.Conversation
	At           time.Time
}

// Answers keeps answers for a day.
type Answers interface {
	// Answer returns what is kept under a key, and false for nothing.
	Answer(ctx context.Context, key string) (Answer, bool, error)
	// KeepAnswer is durable on return.
	KeepAnswer(ctx context.Context, key string, a Answer) error
}

// Headers of a request that is made once, however often it is sent.
const (
	KeyHeader      = "Idempotency-Key"
	ReplayedHeader = "Idempotency-Replayed"
)

// MaxKeyBytes is the longest idempotency key, in visible ASCII.
const MaxKeyBytes = 255

// idempotencyKey returns the key of a request that has one; only those of the
// native layer that POST do.
func idempotencyKey(e *entry) (string, error) {
	values := e.Header.Values(KeyHeader)
	if len(values) == 0 || e.Method != http.MethodPost || !isNative(e.route.Path) {
		return "", nil
	}
	key := values[0]
	if len(values) > 1 || key == "" || len(key) > MaxKeyBytes || strings.IndexFunc(key, notVisible) >= 0 {
		return "", problem(Invalid, "Idempotency-Key must be there once, with 1 to 255 visible ASCII characters.")
	}
	return key, nil
}

func notVisible(r rune) bool { return r <= ' ' || r > '~' }

// mintFor mints the ids of a request. Under a key they are the same each time.
func mintFor(e *entry) id.Mint {
	key, err := idempotencyKey(e)
	if err != nil || key == "" {
		return id.Mint{}
	}
	sum := sha256.Sum256([]byte("verbatim idempotency 1\x00" + key))
	text := strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
	return id.Mint{Text: func() string { return text }}
}

// once runs a route's code. Under a key that was used before it gives the answer
// of then and runs nothing; what failed is not kept and can be tried again.
func (a *API) once(w *reply, e *entry) error {
	key, err := idempotencyKey(e)
	if err != nil {
		return err
	}
	if key == "" {
		return e.route.handle(w, e)
	}
	if !a.keys.take(key) {
		return problem(Conflict, "A request with this Idempotency-Key is under way; wait for its answer, then ask again.")
	}
	defer a.keys.free(key)
	known, ok, err := a.opt.Answers.Answer(e.Context(), key)
	if err != nil {
		return err
	}
	sum, err := digestOf(w, e)
	if err != nil {
		return err
	}
	if ok {
		return a.again(w, e, known, sum)
	}
	t, err := record(w, e)
	if err != nil {
		return err
	}
	a.keepAnswer(w, e, key, sum, t)
	t.send()
	return nil
}

// record runs a route's code and holds its answer back.
func record(w *reply, e *entry) (*tape, error) {
	t := &tape{ResponseWriter: w.ResponseWriter}
	w.ResponseWriter = t
	defer func() { w.ResponseWriter = t.ResponseWriter }()
	return t, e.route.handle(w, e)
}

// again answers as before, if the request is the same.
func (a *API) again(w *reply, e *entry, known Answer, sum *digest) error {
	hash, err := sum.rest(w, e)
	if err != nil {
		return err
	}
	if hash != known.Hash {
		return problem(Mismatch, "This Idempotency-Key belongs to another request; use a new one.")
	}
	w.conversation = known.Conversation
	h := w.Header()
	h.Set(ReplayedHeader, "true")
	h.Set("Content-Type", known.Type)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(known.Body)))
	w.WriteHeader(known.Status)
	_, _ = w.Write(known.Body) // who went away has no use for the rest
	return nil
}

// keepAnswer stores a good answer before it is sent. When it can't be stored the
// client gets it all the same: what it asked for was done.
func (a *API) keepAnswer(w *reply, e *entry, key string, sum *digest, t *tape) {
	if t.status < 200 || t.status > 299 {
		return
	}
	hash, err := sum.rest(w, e)
	if err == nil {
		err = a.opt.Answers.KeepAnswer(context.WithoutCancel(e.Context()), key, Answer{
			Hash: hash, Status: t.status, Type: w.Header().Get("Content-Type"), Body: t.body,
			Conversation: w.conversation, At: a.opt.Now(),
		})
	}
	if err != nil {
		a.log.Error("an answer under an idempotency key was not kept", "route", e.route.Path, "err", err)
	}
}
