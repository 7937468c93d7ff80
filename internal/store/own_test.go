package store_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/approval"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// reopened closes a database and opens it again.
func reopened(t *testing.T, db *store.DB, dir string) *store.DB {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return mustOpen(t, dir)
}

func TestRules(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	at := time.UnixMilli(1_700_000_000_000).UTC()
	rules := []approval.Rule{
		{ID: "rule_1", Tool: "run_command", Words: []string{"git", "status now", ""}, Created: at, By: "owner", Approval: "a_1"},
		{ID: "rule_2", Tool: "run_command", Words: []string{"git", "status now", ""}, Exact: true, Created: at, By: "owner"},
		{ID: "rule_3", Tool: "write_file", Created: at.Add(time.Second), By: "owner"},
	}
	for _, r := range rules {
		if err := db.AddRule(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	again := rules[0]
	again.ID = "rule_4"
	for range 2 {
		if err := db.AddRule(t.Context(), again); err != nil {
			t.Errorf("a rule that says the same: %v", err)
		}
	}
	for range 2 {
		got, err := db.Rules(t.Context())
		if d := cmp.Diff(rules, got); d != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, d)
		}
		db = reopened(t, db, dir)
	}
	if err := db.RemoveRule(t.Context(), "rule_1"); err != nil {
		t.Fatal(err)
	}
	if err := db.RemoveRule(t.Context(), "rule_1"); !errors.Is(err, approval.ErrNoRule) {
		t.Errorf("a rule that is gone: %v, want ErrNoRule", err)
	}
	if err := db.AddRule(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	got, err := db.Rules(t.Context())
	if d := cmp.Diff([]approval.Rule{again, rules[1], rules[2]}, got, byID); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

// logOver starts a log that is closed at the end of the test.
func logOver(t *testing.T, db *store.DB) *turnlog.Log {
	t.Helper()
	l := turnlog.New(db, turnlog.Options{})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// byID compares rules without regard to their order.
var byID = cmp.Transformer("byID", func(rules []approval.Rule) map[string]approval.Rule {
	all := map[string]approval.Rule{}
	for _, r := range rules {
		all[r.ID] = r
	}
	return all
})

func TestProjects(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	for _, p := range [][2]string{{"Ops", "Be brief."}, {"Empty", ""}, {"Ops", "Be exact."}} {
		if err := db.SetProject(t.Context(), p[0], p[1]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := reopened(t, db, dir).Projects(t.Context())
	if d := cmp.Diff(map[string]string{"Ops": "Be exact.", "Empty": ""}, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}

func TestAnswersAreKeptForADay(t *testing.T) {
	dir := t.TempDir()
	now := time.UnixMilli(1_700_000_000_000).UTC()
	db, err := store.Open(dir, store.Options{BallastBytes: -1, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want := store.Answer{Hash: "h", Status: 201, Type: "application/json", Body: []byte("{\"a\":\x00}"), Conversation: "c", At: now}
	for _, key := range []string{"one", "two", "one"} {
		if err := db.KeepAnswer(t.Context(), key, want); err != nil {
			t.Fatal(err)
		}
	}
	get := func(key string) (store.Answer, bool) {
		t.Helper()
		a, ok, err := db.Answer(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return a, ok
	}
	if got, ok := get("one"); !ok || !cmp.Equal(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, ok, want)
	}
	if _, ok := get("three"); ok {
		t.Error("an answer to nothing")
	}
	now = now.Add(store.AnswerAge - time.Millisecond)
	if _, ok := get("one"); !ok {
		t.Error("gone before its time")
	}
	now = now.Add(time.Millisecond)
	if _, ok := get("one"); ok {
		t.Error("kept beyond its time")
	}
	if err := db.KeepAnswer(t.Context(), "three", store.Answer{Status: 204, At: now}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(-time.Minute)
	if _, ok := get("one"); ok {
		t.Error("an old answer was not dropped")
	}
	if got, ok := get("three"); !ok || got.Status != 204 || len(got.Body) != 0 {
		t.Errorf("got %+v, %v", got, ok)
	}
}

// What is no part of the log is written between its commits, by anybody.
func TestOwnWritesBesideTheLog(t *testing.T) {
	db, err := store.Open(t.TempDir(), store.Options{BallastBytes: -1, RecentRows: 8})
	if err != nil {
		t.Fatal(err)
	}
	l := turnlog.New(db, turnlog.Options{})
	var wg sync.WaitGroup
	each := func(f func(i int) error) {
		wg.Go(func() {
			for i := range 20 {
				if err := f(i); err != nil {
					t.Error(err)
				}
			}
		})
	}
	each(func(int) error {
		_, err := l.Append(t.Context(), "c", turnlog.Draft{Event: event.UserMessage{Message: "q", Text: "hi"}})
		return err
	})
	each(func(i int) error {
		return db.AddRule(t.Context(), approval.Rule{ID: fmt.Sprint(i), Tool: fmt.Sprint(i)})
	})
	each(func(i int) error { return db.SetProject(t.Context(), fmt.Sprint(i), "") })
	each(func(i int) error { return db.KeepAnswer(t.Context(), fmt.Sprint(i), store.Answer{At: time.Now()}) })
	each(func(int) error {
		_, err := l.Erase(t.Context(), "c", turnlog.Erasure{Seqs: []int64{1, 2, 3}})
		return err
	})
	wg.Wait()
	rules, err := db.Rules(t.Context())
	if err != nil || len(rules) != 20 {
		t.Errorf("%d rules, %v", len(rules), err)
	}
	if head, err := l.Head(t.Context(), "c"); head != 20 || err != nil {
		t.Errorf("head %d, %v", head, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestBlobs(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	l := logOver(t, db)
	w := &writer{t: t, log: l}
	run := w.turn("c", "x", 1)
	w.turn("d", "x", 1)
	want := []string{"blob1", "blob2", "out1", "out2"}
	if got, err := db.Blobs(t.Context()); err != nil || !cmp.Equal(got, want) {
		t.Errorf("blobs %q, %v; want %q", got, err, want)
	}
	if used, err := db.BlobInUse(t.Context(), "blob1"); !used || err != nil {
		t.Errorf("blob1 in use: %v, %v", used, err)
	}
	free, err := l.Erase(t.Context(), "c", turnlog.Erasure{Runs: []id.Run{run}})
	if err != nil || !cmp.Equal(free, []string{"out1"}) {
		t.Errorf("free %q, %v; the question still has its file", free, err)
	}
	if used, err := db.BlobInUse(t.Context(), "out1"); used || err != nil {
		t.Errorf("out1 in use: %v, %v", used, err)
	}
	if err := db.Reindex(t.Context()); err != nil {
		t.Fatal(err)
	}
	want = []string{"blob1", "blob2", "out2"}
	if got, err := db.Blobs(t.Context()); err != nil || !cmp.Equal(got, want) {
		t.Errorf("blobs after building anew %q, %v; want %q", got, err, want)
	}
}

// While something else reads an old state of the database, the write-ahead log
// keeps it. Afterwards the erased text goes.
func TestErasingDuringACopy(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	l := logOver(t, db)
	w := &writer{t: t, log: l}
	w.turn("whole", marker, 10)
	other := dialRaw(t, filepath.Join(dir, "verbatim.db"))
	other.exec("BEGIN")
	other.texts("SELECT cid FROM conversation")
	if _, err := l.Erase(t.Context(), "whole", turnlog.Erasure{Through: 100}); err != nil {
		t.Fatal(err)
	}
	if db.Scrubbed() || len(where(t, dir)) == 0 {
		t.Error("the other reader has lost what it reads")
	}
	records, err := l.After(t.Context(), "whole", 0, turnlog.Limit{})
	if err != nil || len(records) == 0 {
		t.Fatal(len(records), err)
	}
	for _, r := range records {
		if r.Kind != "erased" {
			t.Errorf("record %d is a %s", r.Seq, r.Kind)
		}
	}
	other.exec("COMMIT")
	other.close()
	// A copy of our own is a good moment to try again.
	if err := db.Backup(t.Context(), filepath.Join(dir, "copy")); err != nil {
		t.Fatal(err)
	}
	scrub(t, db)
	if found := where(t, dir); len(found) > 0 {
		t.Errorf("the marker is still there: %q", found)
	}
}

// What an erasure had left to do when the process ended is done after the next
// start.
func TestScrubbingGoesOnAfterAStart(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	l := logOver(t, db)
	w := &writer{t: t, log: l}
	w.turn("whole", marker, 3000)
	// Without the log nobody calls Upkeep.
	if _, err := db.Erase(t.Context(), "whole", turnlog.Erasure{Through: 100}); err != nil {
		t.Fatal(err)
	}
	if db.Scrubbed() {
		t.Error("nothing is left to do")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, dir)
	if db.Scrubbed() {
		t.Error("the start forgot what is left to do")
	}
	scrub(t, db)
	if found := where(t, dir); len(found) > 0 {
		t.Errorf("the marker is still there: %q", found)
	}
	if db = reopened(t, db, dir); !db.Scrubbed() {
		t.Error("it does not end")
	}
}
