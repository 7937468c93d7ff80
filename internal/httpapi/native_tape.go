package httpapi

import (
	"net/http"
	"sync"
)

// tape holds an answer back.
type tape struct {
	http.ResponseWriter
	status int
	body   []byte
}

func (t *tape) Unwrap() http.ResponseWriter { return t.ResponseWriter }

func (t *tape) WriteHeader(status int) { t.status = status }

func (t *tape) Write(b []byte) (int, error) {
	if t.status == 0 {
		t.status = http.StatusOK
	}
	t.body = append(t.body, b...)
	return len(b), nil
}

// send lets the answer go.
func (t *tape) send() {
	t.ResponseWriter.WriteHeader(t.status)
	_, _ = t.ResponseWriter.Write(t.body) // who went away has no use for the rest
}

// keys are those of requests under way. Safe for concurrent use.
type keys struct {
	mu sync.Mutex
	of map[string]bool
}

func (k *keys) take(key string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of[key] {
		return false
	}
	if k.of == nil {
		k.of = map[string]bool{}
	}
	k.of[key] = true
	return true
}

func (k *keys) free(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.of, key)
}
