package store_test

import (
	"bytes"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/search"
	"verbatim/internal/turnlog"
)

// indexed returns how many entries the index has, over all keys and documents.
func (l *library) indexed() map[string]int64 {
	l.tb.Helper()
	var d sqlite.Driver
	c, err := d.Open("file:" + filepath.Join(l.dir, "verbatim.db"))
	if err != nil {
		l.tb.Fatal(err)
	}
	defer c.Close()
	if _, err := c.(driver.ExecerContext).ExecContext(l.tb.Context(), "CREATE VIRTUAL TABLE temp.entry USING fts5vocab(main, words, row)", nil); err != nil {
		l.tb.Fatal(err)
	}
	rows, err := c.(driver.QueryerContext).QueryContext(l.tb.Context(), "SELECT CAST(term AS BLOB), doc FROM temp.entry", nil)
	if err != nil {
		l.tb.Fatal(err)
	}
	defer rows.Close()
	entries := map[string]int64{}
	for {
		row := make([]driver.Value, 2)
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return entries
		} else if err != nil {
			l.tb.Fatal(err)
		}
		entries[string(row[0].([]byte))] += row[1].(int64)
	}
}

// stored reports whether the files of the database hold some bytes.
func (l *library) stored(what string) bool {
	l.tb.Helper()
	for _, name := range []string{"verbatim.db", "verbatim.db-wal"} {
		data, err := os.ReadFile(filepath.Join(l.dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			l.tb.Fatal(err)
		}
		if bytes.Contains(data, []byte(what)) {
			return true
		}
	}
	return false
}

// What is erased can't be found, and is nowhere in the files: no text, no word
// of it, no fingerprint of a word that nothing else has.
func TestErasedWordsAreNowhere(t *testing.T) {
	l := newLibrary(t)
	for i := range 40 {
		run := id.Run(fmt.Sprint("kept", i))
		l.ask("c", run, fmt.Sprintf("something common number%d", i))
		l.answer("c", run, "some answer")
	}
	before := l.indexed()
	secrets := []string{"xylophonist", "zyzzyva", "秘密警察"}
	l.ask("c", "r1", "my xylophonist")
	l.commit("c", "r1", event.ToolResult{Call: "call_1", Name: "list_directory", OK: true, Output: "zyzzyva 秘密警察\n"})
	l.answer("c", "r1", "Your xylophonist and more:", "zyzzyva, 秘密警察, something common")
	l.finds("before", search.Request{Text: "xylo"}, "ar1", "qr1")
	for _, s := range secrets {
		if !l.stored(s) {
			t.Fatalf("%s is not stored as it is written; the test looks for the wrong thing", s)
		}
	}
	if _, err := l.db.Erase(t.Context(), "c", turnlog.Erasure{Seqs: []int64{l.head["c"] - 9}, Runs: []id.Run{"r1"}}); err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets {
		l.finds("erased", search.Request{Text: s, Tools: true})
	}
	l.upkeep()
	for _, s := range secrets {
		if l.stored(s) {
			t.Errorf("%s is still in the files", s)
		}
		for key := range strings.SplitSeq(search.Parse(s).Keys(search.Place{Output: true}), " ") {
			if l.stored(key) {
				t.Errorf("a fingerprint of %s is still in the files", s)
			}
		}
	}
	if d := cmp.Diff(before, l.indexed()); d != "" {
		t.Errorf("the index has other entries than before (-want +got):\n%s", d)
	}
	l.finds("what is left", words("number7"), "qkept7")
}

// Many texts leave the index over several calls of Upkeep, also of another
// process; meanwhile none is found.
func TestErasingManyIsFinishedLater(t *testing.T) {
	l := newLibrary(t)
	l.ask("kept", "kept", "needle")
	before := l.indexed()
	for i := range 30 {
		run := id.Run(fmt.Sprint("r", i))
		l.ask("c", run, "needle")
		l.answer("c", run, "needle again")
	}
	if _, err := l.db.Erase(t.Context(), "c", turnlog.Erasure{Through: l.head["c"]}); err != nil {
		t.Fatal(err)
	}
	l.finds("right after", words("needle"), "qkept")
	l.close()
	l.open()
	l.finds("after a restart", words("needle"), "qkept")
	// Ids of texts that are gone are not used again.
	l.ask("kept", "new", "needle")
	l.upkeep()
	l.finds("in the end", words("needle"), "qnew", "qkept")
	if d := cmp.Diff(len(before), len(l.indexed())); d != "" {
		t.Errorf("keys in the index (-want +got):\n%s", d)
	}
}
