package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/id"
	"verbatim/internal/search"
)

func found(conversation, message string) search.Hit {
	return search.Hit{
		Conversation: id.Conversation(conversation), Title: "T", Message: id.Message(message),
		Snippet: search.Snippet{Text: "a bit of " + conversation, At: 4},
	}
}

func TestSearch(t *testing.T) {
	w, api := newWorld(t, nil)
	w.found = [][]search.Hit{{found("c1", "m_1"), found("c1", "u_1"), found("c2", "m_1")}}
	rec := on("GET", "/search?q=a%20%22b%22%20OR").of(api)
	want := `{"hits":[{"id":"c1","title":"T","snippet":"a bit of c1","message_index":1},` +
		`{"id":"c1","title":"T","snippet":"a bit of c1","message_index":0},` +
		`{"id":"c2","title":"T","snippet":"a bit of c2","message_index":1}]}` + "\n"
	if got := rec.Body.String(); got != want {
		t.Errorf("answer = %s, want %s", got, want)
	}
	if diff := cmp.Diff([]search.Request{{Text: `a "b" OR`, Limit: hitsAtOnce}}, w.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	w.found = nil
	for _, path := range []string{"/search?q=nothing", "/search?q=", "/search"} {
		if got := on("GET", path).of(api).Body.String(); got != `{"hits":[]}`+"\n" {
			t.Errorf("%s = %s", path, got)
		}
	}
}

func TestSearchNamesARowOnce(t *testing.T) {
	w, api := newWorld(t, nil)
	// Versions of the same answer, a row that is gone, then more on the next page.
	w.found = [][]search.Hit{
		{found("c1", "m_1"), found("c1", "m_1"), found("c1", "m_gone")},
		{found("c1", "m_1"), found("c2", "m_1")},
	}
	var got hits
	body(t, on("GET", "/search?q=a").of(api), &got)
	want := []hit{{ID: "c1", Title: "T", Snippet: "a bit of c1", Index: 1}, {ID: "c2", Title: "T", Snippet: "a bit of c2", Index: 1}}
	if diff := cmp.Diff(want, got.Hits); diff != "" {
		t.Errorf("hits (-want +got):\n%s", diff)
	}
}

func TestSearchEnds(t *testing.T) {
	w, api := newWorld(t, nil)
	many := make([]search.Hit, 0, 30)
	for i := range 30 {
		many = append(many, found(fmt.Sprint("c", i), "m_1"))
	}
	w.found = [][]search.Hit{many, many}
	var got hits
	body(t, on("GET", "/search?q=a").of(api), &got)
	if len(got.Hits) != 20 || len(w.asked) != 1 {
		t.Errorf("%d hits after %d looks, want 20 after 1", len(got.Hits), len(w.asked))
	}
	w.asked, w.found = nil, make([][]search.Hit, 100)
	body(t, on("GET", "/search?q=a").of(api), &got)
	if len(w.asked) != maxLooks {
		t.Errorf("%d looks where nothing is found, want %d", len(w.asked), maxLooks)
	}
}

func TestSearchRefuses(t *testing.T) {
	w, api := newWorld(t, nil)
	longest := strings.Repeat("%C3%A9", search.MaxQueryRunes)
	if rec := on("GET", "/search?q="+longest).of(api); rec.Code != 200 {
		t.Errorf("the longest = %d %s", rec.Code, rec.Body)
	}
	w.asked = nil
	wantError(t, on("GET", "/search?q=x"+longest).of(api), Invalid)
	wantError(t, on("GET", "/search?q=%FF").of(api), Invalid)
	wantError(t, ask{method: "GET", path: "/search?q=a", noToken: true}.of(api), Unauthenticated)
	if len(w.asked) > 0 {
		t.Errorf("asked %v", w.asked)
	}
}
