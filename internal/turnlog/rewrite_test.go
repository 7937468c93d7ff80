package turnlog_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

func mustAfter(t *testing.T, l *turnlog.Log, c id.Conversation) []event.Record {
	t.Helper()
	records, err := l.After(t.Context(), c, 0, turnlog.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func kinds(records []event.Record) string {
	var all []string
	for _, r := range records {
		all = append(all, string(r.Kind))
	}
	return strings.Join(all, " ")
}

// G1: erased records are tombstones for every reader, whatever is cached, and
// the conversation goes on behind them.
func TestErasedRecordsAreTombstonesInEveryCache(t *testing.T) {
	for name, bytes := range map[string]int{"nothing": -1, "one record": 1, "everything": 1 << 30} {
		t.Run(name, func(t *testing.T) {
			l := openLog(t, t.TempDir(), turnlog.Options{CacheBytes: bytes})
			mustAppend(t, l, "c", question("q1", "a secret"), start("r1", "m2"), delta(0, "told"))
			before := mustAfter(t, l, "c")
			for range 2 {
				if _, err := l.Erase(t.Context(), "c", turnlog.Erasure{Seqs: []int64{1}, Runs: []id.Run{"r1"}}); err != nil {
					t.Fatal(err)
				}
			}
			after := mustAfter(t, l, "c")
			if got := kinds(after); got != "erased erased erased" {
				t.Errorf("kinds %q", got)
			}
			for i, r := range after {
				e, err := r.Event()
				if err != nil {
					t.Fatal(err)
				}
				if want := (event.Erased{Was: before[i].Kind, Bytes: int64(len(before[i].Body))}); e != event.Event(want) {
					t.Errorf("record %d is %+v, want %+v", r.Seq, e, want)
				}
				if r.Seq != before[i].Seq || !r.At.Equal(before[i].At) || r.Run != before[i].Run || r.Message != before[i].Message {
					t.Errorf("record %d has lost its place: %+v", i, r)
				}
			}
			// The run is not over: its id and its place are kept.
			mustAppend(t, l, "c", delta(4, "more"))
			if got := kinds(mustAfter(t, l, "c")); got != "erased erased erased delta" {
				t.Errorf("kinds %q after one more", got)
			}
		})
	}
}

// What is posted before an erasure is erased with it, what is posted after is
// not.
func TestErasingIsInOrderWithPosts(t *testing.T) {
	l := openLog(t, t.TempDir(), turnlog.Options{})
	mustAppend(t, l, "c", question("q1", "hi"), start("r1", "m2"))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Add(1)
		l.Post("c", []turnlog.Draft{delta(i, "x")}, func(_ []event.Record, err error) {
			if err != nil {
				t.Error(err)
			}
			wg.Done()
		})
	}
	if _, err := l.Erase(t.Context(), "c", turnlog.Erasure{Through: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, "c", delta(50, "y"))
	wg.Wait()
	records := mustAfter(t, l, "c")
	if len(records) != 53 || strings.Count(kinds(records), "erased") != 52 || records[52].Kind != "delta" {
		t.Errorf("%d records: %s", len(records), kinds(records))
	}
}

func TestErasingNeedsAnOpenLog(t *testing.T) {
	l := openLog(t, t.TempDir(), turnlog.Options{})
	mustAppend(t, l, "c", question("q1", "hi"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Erase(ended, "c", turnlog.Erasure{Through: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context: %v", err)
	}
	if _, err := l.Erase(t.Context(), "", turnlog.Erasure{Through: 1}); !errors.Is(err, turnlog.ErrInvalid) {
		t.Errorf("of no conversation: %v", err)
	}
	if got := kinds(mustAfter(t, l, "c")); got != "user_message" {
		t.Errorf("kinds %q", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Erase(t.Context(), "c", turnlog.Erasure{Through: 1}); !errors.Is(err, turnlog.ErrClosed) {
		t.Errorf("on a closed log: %v", err)
	}
	if err := l.Import(t.Context(), "d", []event.Record{{Seq: 1, Kind: "later", Body: []byte("{}")}}); !errors.Is(err, turnlog.ErrClosed) {
		t.Errorf("import on a closed log: %v", err)
	}
}

// Records that were read from one log are the same records in another.
func TestImportedRecordsAreTheSame(t *testing.T) {
	from := openLog(t, t.TempDir(), turnlog.Options{})
	mustAppend(t, from, "c", question("q1", "hi"), start("r1", "m2"), delta(0, "a"), turnlog.Draft{Event: event.Unknown{Name: "later", Raw: []byte(`{"x":  1}`)}})
	mustAppend(t, from, "c", turnlog.Draft{Run: "r1", Message: "m2", Event: event.End{Finish: event.FinishStop}})
	if _, err := from.Erase(t.Context(), "c", turnlog.Erasure{Seqs: []int64{3}}); err != nil {
		t.Fatal(err)
	}
	records := mustAfter(t, from, "c")
	to := openLog(t, t.TempDir(), turnlog.Options{})
	w := to.Watch("other")
	defer w.Close()
	// From a unit that failed, the writer knows that there is nothing.
	mustAppend(t, to, "c", start("r9", "m9"))
	if _, err := to.Append(t.Context(), "other", start("r9", "m9")); err == nil {
		t.Fatal("the run of another conversation was started")
	}
	if err := to.Import(t.Context(), "other", records); err != nil {
		t.Fatal(err)
	}
	<-w.C
	want := mustAfter(t, from, "c")
	for i := range want {
		want[i].Conversation = "other"
	}
	if d := cmp.Diff(want, mustAfter(t, to, "other"), sameRecords); d != "" {
		t.Errorf("(-from +to):\n%s", d)
	}
	if records[0].Conversation != "c" {
		t.Error("the caller's records were changed")
	}
	if err := to.Import(t.Context(), "other", records); !errors.Is(err, turnlog.ErrExists) {
		t.Errorf("a second time: %v, want ErrExists", err)
	}
	if err := to.Import(t.Context(), "third", records); !errors.Is(err, turnlog.ErrRunUsed) {
		t.Errorf("under another name: %v, want ErrRunUsed", err)
	}
	if err := to.Import(t.Context(), "fourth", nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
	next := mustAppend(t, to, "other", question("q2", "ho"))
	if next[0].Seq != 6 || next[0].At.Before(records[4].At) {
		t.Errorf("it goes on with %d at %v", next[0].Seq, next[0].At)
	}
}

func TestImportRefusesWhatALogCannotHold(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000).UTC()
	record := func(seq int64, r id.Run, m id.Message, e event.Event) event.Record {
		out, err := event.NewRecord("c", r, m, e)
		if err != nil {
			t.Fatal(err)
		}
		out.Seq, out.At = seq, at
		return out
	}
	good := record(1, "", "", event.UserMessage{Message: "q1", Text: "hi"})
	changed := func(f func(*event.Record)) []event.Record {
		r := good
		f(&r)
		return []event.Record{r}
	}
	cases := []struct {
		name    string
		records []event.Record
	}{
		{"a late begin", changed(func(r *event.Record) { r.Seq = 2 })},
		{"a gap", []event.Record{good, record(3, "", "", event.Title{Title: "x"})}},
		{"a time that goes back", []event.Record{good, func() event.Record {
			r := record(2, "", "", event.Title{Title: "x"})
			r.At = at.Add(-time.Second)
			return r
		}()}},
		{"a part of a millisecond", changed(func(r *event.Record) { r.At = at.Add(time.Microsecond) })},
		{"no JSON", changed(func(r *event.Record) { r.Body = json.RawMessage(`{"text":`) })},
		{"no object", changed(func(r *event.Record) { r.Body = json.RawMessage(`"text"`) })},
		{"white space around it", changed(func(r *event.Record) { r.Body = json.RawMessage("{} ") })},
		{"bytes that are no text", changed(func(r *event.Record) { r.Body = json.RawMessage("{\"text\":\"\xff\"}") })},
		{"another kind of payload", changed(func(r *event.Record) { r.Body = json.RawMessage(`{"text":1}`) })},
		{"no kind", changed(func(r *event.Record) { r.Kind = "" })},
		{"a fact of a run", changed(func(r *event.Record) { r.Run, r.Message = "r1", "m2" })},
		{"a run without a message", []event.Record{record(1, "r1", "", event.Start{Version: 1})}},
		{"a start without a run", []event.Record{record(1, "", "", event.Start{Version: 1})}},
		{"a tombstone without a message", []event.Record{record(1, "r1", "", event.Erased{Was: "start"})}},
		{"a piece without text", []event.Record{record(1, "r1", "m2", event.Delta{Segment: "s1"})}},
	}
	l := openLog(t, t.TempDir(), turnlog.Options{})
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := l.Import(t.Context(), "c", c.records); !errors.Is(err, turnlog.ErrInvalid) {
				t.Errorf("got %v, want ErrInvalid", err)
			}
		})
	}
	if got := mustAfter(t, l, "c"); len(got) != 0 {
		t.Errorf("%d records were written", len(got))
	}
	if err := l.Import(t.Context(), "c", []event.Record{good}); err != nil {
		t.Error(err)
	}
}

// What upkeep has left to do is done while nobody waits, without a commit.
func TestUpkeepGoesOnWhileThereIsMore(t *testing.T) {
	s := &busy{left: 5, ended: make(chan struct{})}
	l := turnlog.New(s, turnlog.Options{})
	if _, err := l.Erase(t.Context(), "c", turnlog.Erasure{}); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if s.left != 0 {
		t.Errorf("%d pieces are left", s.left)
	}
}

// busy is a store with upkeep of several pieces.
type busy struct {
	turnlog.Store
	left  int
	ended chan struct{}
}

func (s *busy) Erase(context.Context, id.Conversation, turnlog.Erasure) ([]string, error) {
	return nil, nil
}

func (s *busy) Upkeep(context.Context) (bool, error) {
	s.left--
	if s.left == 0 {
		close(s.ended)
	}
	return s.left > 0, nil
}

func (s *busy) Close() error { return nil }
