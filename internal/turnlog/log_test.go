package turnlog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sameRecords compares records as readers see them: whether the payload is at
// hand decoded is no part of that.
var sameRecords = cmp.Options{
	cmpopts.IgnoreUnexported(event.Record{}), cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }),
}

func openLog(t testing.TB, dir string, options turnlog.Options) *turnlog.Log {
	t.Helper()
	db, err := store.Open(dir, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	l := turnlog.New(db, options)
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func delta(offset int, text string) turnlog.Draft {
	return turnlog.Draft{Run: "r1", Message: "m2", Event: event.Delta{Segment: "s1", Offset: int64(offset), Text: text}}
}

func start(r id.Run, m id.Message) turnlog.Draft {
	return turnlog.Draft{Run: r, Message: m, Event: event.Start{Model: "x/y", Version: 1, Request: "h"}}
}

func question(m id.Message, text string) turnlog.Draft {
	return turnlog.Draft{Event: event.UserMessage{Message: m, Text: text, Via: event.Via{Surface: "web"}}}
}

func mustAppend(t testing.TB, l *turnlog.Log, c id.Conversation, drafts ...turnlog.Draft) []event.Record {
	t.Helper()
	records, err := l.Append(t.Context(), c, drafts...)
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestAppendNumbersFromOneWithoutGaps(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, turnlog.Options{})
	first := mustAppend(t, l, "c", question("m1", "hi"), start("r1", "m2"))
	second := mustAppend(t, l, "c", delta(0, "a"))
	if got, want := []int64{first[0].Seq, first[1].Seq, second[0].Seq}, []int64{1, 2, 3}; !cmp.Equal(got, want) {
		t.Errorf("seqs %v, want %v", got, want)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openLog(t, dir, turnlog.Options{})
	third := mustAppend(t, l, "c", delta(1, "b"))
	if got := third[0].Seq; got != 4 {
		t.Errorf("after reopening seq %d, want 4", got)
	}
	all, err := l.After(t.Context(), "c", 0, turnlog.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	want := append(append(first, second...), third...)
	if d := cmp.Diff(want, all, sameRecords); d != "" {
		t.Errorf("read after reopening (-want +got):\n%s", d)
	}
}

func TestInvalidUnitsFailAlone(t *testing.T) {
	cases := []struct {
		name  string
		draft turnlog.Draft
	}{
		{"no event", turnlog.Draft{}},
		{"a delta without text", delta(0, "")},
		{"a delta that is not UTF-8", delta(0, "a\xff")},
		{"a delta without a run", turnlog.Draft{Event: event.Delta{Segment: "s1", Text: "a"}}},
		{"a question with a run", turnlog.Draft{Run: "r1", Message: "m2", Event: event.UserMessage{Message: "m1"}}},
		{"a question that is not UTF-8", question("m1", "\xc3(")},
		{"a run without its message", turnlog.Draft{Run: "r1", Event: event.End{Finish: event.FinishStop}}},
		{"an unknown kind that is no JSON", turnlog.Draft{Event: event.Unknown{Name: "new", Raw: []byte("{")}}},
		{"a known kind in disguise", turnlog.Draft{Event: event.Unknown{Name: "title", Raw: []byte("{}")}}},
		{"arguments that are not UTF-8", turnlog.Draft{Run: "r1", Message: "m2", Event: event.ToolCall{Call: "k", Args: []byte("\"\xff\"")}}},
	}
	l := openLog(t, t.TempDir(), turnlog.Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := l.Append(t.Context(), "c", c.draft)
			if !errors.Is(err, turnlog.ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
		})
	}
	if head, err := l.Head(t.Context(), "c"); head != 0 || err != nil {
		t.Errorf("head %d, %v after invalid units only", head, err)
	}
}

func TestUnknownKindSurvives(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, turnlog.Options{CacheBytes: -1})
	raw := `{"b": 1,  "a":"é<\u2028"}`
	mustAppend(t, l, "c", turnlog.Draft{Event: event.Unknown{Name: "later", Raw: []byte(raw)}})
	got, err := l.After(t.Context(), "c", 0, turnlog.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	if string(got[0].Body) != raw || got[0].Kind != "later" {
		t.Errorf("got %s %s, want the bytes that were written", got[0].Kind, got[0].Body)
	}
}

// A stream has no hole: what follows a piece that failed is refused until the
// run's owner has heard of it.
func TestNothingFollowsAFailedPieceOfARun(t *testing.T) {
	l := openLog(t, t.TempDir(), turnlog.Options{})
	mustAppend(t, l, "c", question("m1", "hi"), start("r1", "m2"))
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for i, text := range []string{"a", "\xff", "b", "c"} {
		wg.Add(1)
		l.Post("c", []turnlog.Draft{delta(i, text)}, func(_ []event.Record, err error) {
			errs[i] = err
			wg.Done()
		})
	}
	wg.Wait()
	for i, err := range errs {
		if failed := errors.Is(err, turnlog.ErrInvalid); failed != (i > 0) {
			t.Errorf("piece %d: %v", i, err)
		}
	}
	closing := mustAppend(t, l, "c", turnlog.Draft{Run: "r1", Message: "m2", Event: event.Error{Type: event.ErrorInternal, Code: event.CodeBug}})
	if closing[0].Seq != 4 {
		t.Errorf("the run closed with seq %d, want 4", closing[0].Seq)
	}
}

func TestTimesNeverGoBack(t *testing.T) {
	dir := t.TempDir()
	now := time.UnixMilli(5_000)
	clock := func() time.Time { return now }
	l := openLog(t, dir, turnlog.Options{Now: clock})
	mustAppend(t, l, "c", question("m1", "hi"))
	now = time.UnixMilli(3_000)
	second := mustAppend(t, l, "c", question("m2", "hi"))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = openLog(t, dir, turnlog.Options{Now: clock})
	third := mustAppend(t, l, "c", question("m3", "hi"))
	for _, r := range append(second, third...) {
		if r.At.UnixMilli() != 5_000 {
			t.Errorf("record %d at %v, want the time of the one before", r.Seq, r.At)
		}
	}
}

func TestAWatcherIsWokenAfterTheCommit(t *testing.T) {
	l := openLog(t, t.TempDir(), turnlog.Options{})
	w := l.Watch("c")
	other := l.Watch("d")
	defer other.Close()
	mustAppend(t, l, "c", question("m1", "hi"))
	mustAppend(t, l, "c", question("m2", "hi"))
	<-w.C
	got, err := l.After(t.Context(), "c", 0, turnlog.Limit{})
	if err != nil || len(got) != 2 {
		t.Errorf("after the wake-up %d records, %v", len(got), err)
	}
	select {
	case <-other.C:
		t.Error("a watcher of another conversation was woken")
	default:
	}
	w.Close()
	w.Close()
	mustAppend(t, l, "c", question("m3", "hi"))
	select {
	case <-w.C:
		t.Error("woken after Close")
	default:
	}
}

func TestCloseWritesWhatWasPosted(t *testing.T) {
	dir := t.TempDir()
	l := openLog(t, dir, turnlog.Options{})
	for i := range 50 {
		l.Post(id.Conversation(fmt.Sprintf("c%d", i%3)), []turnlog.Draft{question(id.Message(fmt.Sprint(i)), "hi")}, nil)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error("second close:", err)
	}
	if _, err := l.Append(context.Background(), "c", question("x", "hi")); !errors.Is(err, turnlog.ErrClosed) {
		t.Errorf("append after close: %v, want ErrClosed", err)
	}
	l = openLog(t, dir, turnlog.Options{})
	sum := int64(0)
	for i := range 3 {
		head, err := l.Head(t.Context(), id.Conversation(fmt.Sprintf("c%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		sum += head
	}
	if sum != 50 {
		t.Errorf("%d records after reopening, want 50", sum)
	}
}
