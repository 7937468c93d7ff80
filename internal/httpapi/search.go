package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"unicode/utf8"

	"verbatim/internal/id"
	"verbatim/internal/search"
)

const (
	// maxHits is how many rows an answer has.
	maxHits = 20
	// hitsAtOnce is how many texts are asked for in one go: several can be of
	// one row, its versions. maxLooks bounds how often more are asked for.
	hitsAtOnce = 2 * maxHits
	maxLooks   = 5
)

type hits struct {
	Hits []hit `json:"hits"`
}

type hit struct {
	ID      id.Conversation `json:"id"`
	Title   string          `json:"title"`
	Snippet string          `json:"snippet"`
	// Index is where the row is now.
	Index int `json:"message_index"`
}

// search answers with the newest rows that have the words, each once.
func (a *API) search(w *reply, e *entry) error {
	q := e.URL.Query().Get("q")
	switch {
	case !utf8.ValidString(q):
		return problem(Invalid, "q is not valid UTF-8.")
	case utf8.RuneCountInString(q) > search.MaxQueryRunes:
		return problem(Invalid, fmt.Sprintf("q may have at most %d characters.", search.MaxQueryRunes))
	}
	f := finder{api: a, places: map[id.Conversation]map[id.Message]int{}, seen: map[rowKey]bool{}, hits: []hit{}}
	if err := f.find(e.Context(), q); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, hits{f.hits})
}

// finder collects the rows of an answer.
type finder struct {
	api    *API
	places map[id.Conversation]map[id.Message]int
	seen   map[rowKey]bool
	hits   []hit
}

type rowKey struct {
	conversation id.Conversation
	message      id.Message
}

func (f *finder) find(ctx context.Context, q string) error {
	req := search.Request{Text: q, Limit: hitsAtOnce}
	for range maxLooks {
		page, err := f.api.opt.Search.Search(ctx, req)
		if err != nil {
			return err
		}
		for _, h := range page.Hits {
			if err := f.take(ctx, h); err != nil || len(f.hits) == maxHits {
				return err
			}
		}
		if page.Next == 0 {
			return nil
		}
		req.Before = page.Next
	}
	return nil
}

// take adds a hit, unless its row is there already or is gone by now.
func (f *finder) take(ctx context.Context, h search.Hit) error {
	key := rowKey{h.Conversation, h.Message}
	if f.seen[key] {
		return nil
	}
	f.seen[key] = true
	places, ok := f.places[h.Conversation]
	if !ok {
		var err error
		if places, err = f.api.opt.Library.Positions(ctx, h.Conversation); err != nil {
			return err
		}
		f.places[h.Conversation] = places
	}
	if index, ok := places[h.Message]; ok {
		f.hits = append(f.hits, hit{ID: h.Conversation, Title: h.Title, Snippet: h.Snippet.Text, Index: index})
	}
	return nil
}
