package store_test

import (
	"path/filepath"
	"strings"
	"testing"

	"verbatim/internal/blob"
	"verbatim/internal/event"
	"verbatim/internal/search"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// An output that is too long to be shown is found by a word of its beginning,
// which only its blob has, and by one of its end.
func TestLongOutputIsFound(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db, err := store.Open(dir, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	log := turnlog.New(db, turnlog.Options{})
	defer log.Close()
	files, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	whole := "quagmire at the start\n" + strings.Repeat("line after line\n", 20_000) + "zephyr at the end\n"
	name, err := files.Put(t.Context(), []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	result := event.ToolResult{
		Call: "call", Name: "run_command", OK: true, Output: "line after line\nzephyr at the end\n",
		Truncated: true, OutputBytes: int64(len(whole)), Blob: name,
	}
	_, err = log.Append(t.Context(), "c",
		turnlog.Draft{Event: event.UserMessage{Message: "m", Text: "look"}},
		turnlog.Draft{Run: "r", Message: "a", Event: event.Start{Model: "x", Version: 1}},
		turnlog.Draft{Run: "r", Message: "a", Event: event.ToolCall{Call: "call", Index: 1, Name: "run_command", Args: []byte("{}")}},
		turnlog.Draft{Run: "r", Message: "a", Event: result})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"quagmire", "zephyr"} {
		page, err := db.Search(t.Context(), search.Request{Text: word, Limit: 10, Tools: true})
		if err != nil || len(page.Hits) != 1 || !strings.Contains(page.Hits[0].Snippet.Text, word) {
			t.Errorf("%s: %+v, %v", word, page.Hits, err)
		}
	}
}
