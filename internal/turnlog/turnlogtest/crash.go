package turnlogtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/faultfs"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// long reports whether the suite is to leave nothing out.
func long() bool { return os.Getenv("VERBATIM_LONG") != "" }

// moment is what had been acknowledged when the disk's journal was so long.
type moment struct {
	length int
	reached
}

// testCrash lets the machine stop between any two writes of a story that
// begins a database, closes it, opens it again and goes on: by the end of the
// process, and by a power cut that leaves unsynced writes out, in, or torn.
// After each, what was acknowledged is there, nothing is there in part, and
// the indexes agree with the records.
func testCrash(t *testing.T, subject Subject) {
	disk := newDisk(t, subject)
	b := newBook(t)
	moments := []moment{{}}
	acknowledge := func() { moments = append(moments, moment{disk.Len(), b.reached()}) }
	dir := t.TempDir()
	for round := range 3 {
		s := mustOpen(t, subject, dir, Options{Disk: disk})
		b.story(s, round, acknowledge)
		if round < 2 {
			mustClose(t, s)
		}
	}
	length := disk.Len()
	const sample = 30
	step := 1
	if !long() {
		step = max(1, length/sample)
	}
	t.Logf("%d operations, a stop after every %d", length, step)
	for n := 0; n <= length; n += step {
		for _, cut := range cuts(n) {
			stopped(t, subject, disk, cut, b, acknowledgedAt(moments, n))
		}
	}
}

func cuts(n int) []faultfs.Cut {
	all := []faultfs.Cut{{After: n}, {After: n, Power: true, Seed: 1}}
	if long() {
		for seed := range uint64(5) {
			all = append(all, faultfs.Cut{After: n, Power: true, Seed: seed + 2})
		}
	}
	return all
}

// acknowledgedAt returns what had been acknowledged after n operations.
func acknowledgedAt(moments []moment, n int) (r reached) {
	for _, m := range moments {
		if m.length <= n {
			r = m.reached
		}
	}
	return r
}

// stopped opens what a cut left and checks it, then goes on writing.
func stopped(t *testing.T, subject Subject, disk Disk, cut faultfs.Cut, b *book, acknowledged reached) {
	t.Helper()
	dir := t.TempDir()
	if err := disk.Materialise(dir, cut); err != nil {
		t.Fatal(err)
	}
	// A disk of its own spares it the real syncs.
	found, err := subject.NewDisk()
	if err != nil {
		t.Fatal(err)
	}
	s, err := subject.Open(dir, Options{Disk: found, BallastBytes: -1})
	if err != nil {
		t.Errorf("after %+v: %v", cut, errors.Join(err, found.Close()))
		return
	}
	before := t.Failed()
	indexed(t, s, b.holdsFrom(t, s, acknowledged))
	reindexed(t, subject, s, b)
	goesOn(t, s)
	if err := errors.Join(s.Close(), found.Close()); err != nil {
		t.Error(err)
	}
	if t.Failed() && !before {
		t.Fatalf("this was after %+v", cut)
	}
	// Hundreds of databases need not wait for the end of the test.
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// goesOn checks that a store takes the next record of a conversation.
func goesOn(t *testing.T, s turnlog.Store) {
	t.Helper()
	b := newBook(t)
	head, err := s.Head(t.Context(), "c1")
	if err != nil {
		t.Error(err)
		return
	}
	g := b.group("c1", asked("next", "hi"))
	g.Records[0].Seq = head + 1
	if err := commitOne(t.Context(), s, g); err != nil {
		t.Errorf("the next record: %v", err)
	}
}

// testTornTail damages what was written last, as a disk does that was writing
// when its power went: units at the end may be gone, those before are whole.
func testTornTail(t *testing.T, subject Subject) {
	disk := newDisk(t, subject)
	b := newBook(t)
	s := mustOpen(t, subject, t.TempDir(), Options{Disk: disk})
	b.story(s, 0, func() {})
	whole := disk.Len()
	acknowledged := b.reached()
	last := b.group("c0", asked("last", "a"), asked("last2", "b"))
	if err := commitOne(t.Context(), s, last); err != nil {
		t.Fatal(err)
	}
	b.note(last)
	for n := whole; n <= disk.Len(); n++ {
		for seed := range uint64(2) {
			stopped(t, subject, disk, faultfs.Cut{After: n, Power: true, Seed: seed}, b, acknowledgedAt([]moment{{whole, acknowledged}, {disk.Len(), b.reached()}}, n))
		}
	}
}

// testFailingDisk lets each write, sync and truncation fail once, under a log.
// The unit that was hit is reported and not there; what is reported as written
// is; the numbers go on without a gap.
func testFailingDisk(t *testing.T, subject Subject) {
	points := 5
	if long() {
		points = 25
	}
	for _, op := range []faultfs.Op{faultfs.Write, faultfs.Sync, faultfs.Truncate} {
		for after := range points {
			t.Run(fmt.Sprintf("%s %d", op, after), func(t *testing.T) { failingOnce(t, subject, op, after) })
		}
	}
}

func failingOnce(t *testing.T, subject Subject, op faultfs.Op, after int) {
	disk := newDisk(t, subject)
	dir := t.TempDir()
	l := turnlog.New(mustOpen(t, subject, dir, Options{Disk: disk}), turnlog.Options{})
	disk.Fail(faultfs.Fault{Op: op, After: after, Times: 1})
	var written []id.Message
	for i := range 6 {
		m := id.Message(fmt.Sprintf("q%d", i))
		if _, err := l.Append(t.Context(), "c", asked(m, "hi")); err == nil {
			written = append(written, m)
		}
	}
	if len(written) < 5 {
		t.Errorf("one failure lost %d units", 6-len(written))
	}
	holdsMessages(t, l, written)
	if err := l.Close(); err != nil {
		t.Logf("close: %v", err)
	}
	s, err := subject.Open(dir, Options{Disk: disk})
	if err != nil {
		// The failure came as late as this: the start reports it, and the
		// next one finds everything.
		t.Logf("open: %v", err)
		s = mustOpen(t, subject, dir, Options{Disk: disk})
	}
	l = turnlog.New(s, turnlog.Options{})
	holdsMessages(t, l, written)
	if err := l.Close(); err != nil {
		t.Logf("close: %v", err)
	}
}

func holdsMessages(t *testing.T, l *turnlog.Log, want []id.Message) {
	t.Helper()
	records, err := l.After(t.Context(), "c", 0, turnlog.Limit{})
	if err != nil {
		t.Fatal(err)
	}
	if len(records) != len(want) {
		t.Errorf("%d records, %d were acknowledged", len(records), len(want))
		return
	}
	for i, r := range records {
		e, err := r.Event()
		if err != nil {
			t.Fatal(err)
		}
		if got := e.(event.UserMessage).Message; got != want[i] || r.Seq != int64(i+1) {
			t.Errorf("record %d is message %s with seq %d, want %s", i, got, r.Seq, want[i])
		}
	}
}

// testPending checks that what waits to be put in its place is bounded while
// readers never stop, and while one is as slow as it likes between reads.
func testPending(t *testing.T, subject Subject) {
	dir := t.TempDir()
	s := mustOpen(t, subject, dir, Options{})
	b := newBook(t)
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.Read(t.Context(), "c", 0, turnlog.Limit{Records: 3}, false); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	slow, err := s.Read(t.Context(), "c", 0, turnlog.Limit{Records: 1}, false)
	if err != nil || len(slow) != 0 {
		t.Fatal(slow, err)
	}
	text := strings.Repeat("x", 24_000)
	highest, offset := int64(0), 0
	b.commit(s, b.group("c", asked("q", "hi"), started("r", "a")))
	for range 60 {
		var drafts []turnlog.Draft
		for range 20 {
			drafts = append(drafts, said("r", "a", offset, text))
			offset += len(text)
		}
		b.commit(s, b.group("c", drafts...))
		highest = max(highest, subject.Pending(dir))
	}
	close(stop)
	<-ended
	t.Logf("at most %d bytes were pending", highest)
	if highest > subject.PendingBytes {
		t.Errorf("%d bytes were pending, more than %d", highest, subject.PendingBytes)
	}
	b.holds(t, s)
}

// files returns the contents of the files of a directory.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[e.Name()] = string(data)
	}
	return all
}
