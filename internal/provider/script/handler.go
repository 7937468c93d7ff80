package script

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"verbatim/internal/event"
)

const maxRequestBytes = 64 << 20

// Handler serves the script as a provider with the chat completions protocol:
// POST …/chat/completions and GET …/models. It counts how often each round was
// asked for, for the script's :again. It is safe for concurrent use.
func Handler(s *Script) http.Handler {
	return &handler{script: s, asked: map[place]int{}}
}

type handler struct {
	script *Script

	mu    sync.Mutex
	asked map[place]int
}

// place is a round of a section.
type place struct{ section, round int }

// question is what the script looks at in a request.
type question struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	} `json:"messages"`
	Tools []json.RawMessage `json:"tools"`
}

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case strings.HasSuffix(r.URL.Path, "/models") && r.Method == http.MethodGet:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"script","object":"model"}]}`)
	case strings.HasSuffix(r.URL.Path, "/chat/completions") && r.Method == http.MethodPost:
		h.complete(w, r)
	default:
		writeFault(w, faultStep{status: http.StatusNotFound, message: "a script serves POST chat/completions and GET models"})
	}
}

func (h *handler) complete(w http.ResponseWriter, r *http.Request) {
	var q question
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequestBytes))
	if err != nil || json.Unmarshal(body, &q) != nil {
		writeFault(w, faultStep{status: http.StatusBadRequest, message: "the request is no JSON object with messages"})
		return
	}
	message, rounds := q.last()
	n, ok := h.script.section(message)
	if !ok {
		writeFault(w, faultStep{status: http.StatusBadRequest, message: "no section of the script takes this message"})
		return
	}
	p := newPlayer(r.Context(), w, &q, message)
	p.play(h.next(n, rounds))
}

// next returns the steps for the round of the section, and counts them as asked.
func (h *handler) next(sectionNumber, rounds int) []step {
	all := h.script.sections[sectionNumber].rounds
	at := place{sectionNumber, min(rounds, len(all)-1)}
	h.mu.Lock()
	n := h.asked[at]
	h.asked[at]++
	h.mu.Unlock()
	tries := all[at.round].tries
	return tries[min(n, len(tries)-1)]
}

// last returns the last message of the user, and how many rounds the model has
// answered since.
func (q *question) last() (text string, rounds int) {
	for i := len(q.Messages) - 1; i >= 0; i-- {
		switch m := q.Messages[i]; m.Role {
		case "user":
			return flat(m.Content), rounds
		case "assistant":
			rounds++
		}
	}
	return "", rounds
}

// flat returns the text of a content in either of its forms.
func flat(content any) string {
	switch c := content.(type) {
	case string:
		return c
	case []any:
		var b strings.Builder
		for _, part := range c {
			if m, ok := part.(map[string]any); ok {
				text, _ := m["text"].(string)
				b.WriteString(text)
			}
		}
		return b.String()
	}
	return ""
}

// writeFault answers with an error status.
func writeFault(w http.ResponseWriter, f faultStep) {
	w.Header().Set("Content-Type", "application/json")
	if f.retryAfter != "" {
		w.Header().Set("Retry-After", f.retryAfter)
	}
	w.WriteHeader(f.status)
	_, _ = w.Write(appendFault(nil, f))
}

func appendFault(b []byte, f faultStep) []byte {
	b = append(b, `{"error":{"message":`...)
	b = event.AppendString(b, f.message)
	b = append(b, `,"type":`...)
	b = event.AppendString(b, f.kind)
	b = append(b, `,"code":`...)
	if f.code != "" {
		b = event.AppendString(b, f.code)
	} else {
		b = strconv.AppendInt(b, int64(f.status), 10)
	}
	return append(b, `}}`...)
}
