package e2e

import (
	"fmt"
	"net/http"
	"strings"

	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// importScene is somebody who brings in one chat after another from another
// product's file.
type importScene struct {
	sceneBase
	taken   int // chats that were answered for
	cut     bool
	stopped chan struct{}
}

// chat is the first that is brought in.
func (s *importScene) chat() id.Conversation { return s.nth(0) }

func (s *importScene) nth(i int) id.Conversation {
	return id.Conversation(fmt.Sprintf("import-%d-%d", s.n, i))
}

func (s *importScene) answer(ask) []step { return nil }

// importRows is how many rows each chat has.
const importRows = 40

func (s *importScene) file(i int) string {
	var rows []string
	for r := range importRows {
		role := []string{"user", "assistant"}[r%2]
		rows = append(rows, fmt.Sprintf(`{"role": %q, "content": "row %d of chat %d"}`, role, r, i))
	}
	return fmt.Sprintf(`{"id": %q, "title": "Imported", "updated": 1767225600, "messages": [%s]}`, s.nth(i), strings.Join(rows, ", "))
}

func (s *importScene) begin(d *door) {
	s.stopped = make(chan struct{})
	first := make(chan struct{})
	go func() {
		defer close(s.stopped)
		for i := range 200 {
			if code := status(d, "POST", "/api/v1/import", s.file(i)); code != http.StatusOK {
				s.cut = code == 0
				return
			}
			if s.taken++; i == 0 {
				close(first)
			}
		}
	}()
	select {
	case <-first:
	case <-s.stopped:
		if s.taken == 0 {
			s.t.Error("nothing was imported")
		}
	}
}

func (s *importScene) left(*transcript.Conversation) []phase {
	receive(s.t, "the last import", s.stopped)
	if s.cut {
		return []phase{importUnderWay}
	}
	return nil
}

func (s *importScene) after(d *door) {
	for i := range s.taken + 1 {
		var c conversation
		code := d.call(s.t, "GET", "/chats/"+string(s.nth(i)), nil, &c)
		switch {
		case code == http.StatusNotFound && i == s.taken:
		case code != http.StatusOK:
			s.t.Errorf("import %d of %d: status %d", i, s.taken, code)
		case len(c.Messages) != importRows || c.Messages[importRows-1].Content != fmt.Sprintf("row %d of chat %d", importRows-1, i):
			s.t.Errorf("import %d has %d rows", i, len(c.Messages))
		}
	}
}
