package turnlogtest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// testFence opens a store a second time while the first still runs, as after a
// lock that somebody removed: the first can write nothing any more.
func testFence(t *testing.T, subject Subject) {
	dir := t.TempDir()
	b := newBook(t)
	first := mustOpen(t, subject, dir, Options{})
	b.story(first, 0, func() {})
	if err := subject.Unlock(dir); err != nil {
		t.Fatal(err)
	}
	second := mustOpen(t, subject, dir, Options{})
	if second.Start() <= first.Start() || second.Epoch() != first.Epoch() {
		t.Errorf("start %d after %d, epoch %s after %s", second.Start(), first.Start(), second.Epoch(), first.Epoch())
	}
	for range 2 {
		errs := first.Commit(t.Context(), []turnlog.Group{b.group("c0", asked("x", "late")), b.group("new", asked("y", "late"))})
		for i, err := range errs {
			if !errors.Is(err, turnlog.ErrFenced) {
				t.Errorf("group %d of the first: %v, want ErrFenced", i, err)
			}
		}
	}
	b.holds(t, second)
	b.story(second, 1, func() {})
	b.holds(t, second)
	if head, err := second.Head(t.Context(), "new"); head != 0 || err != nil {
		t.Errorf("the first wrote: head %d, %v", head, err)
	}
}

// testFullDisk fills the disk under a log. Runs can still be closed, new ones
// are told to wait, nothing is lost, and with space it goes on.
func testFullDisk(t *testing.T, subject Subject) {
	const ballast, room = 512 << 10, 256 << 10
	disk := newDisk(t, subject)
	dir := t.TempDir()
	now := time.UnixMilli(1_700_000_000_000)
	s := mustOpen(t, subject, dir, Options{Disk: disk, BallastBytes: ballast, Now: func() time.Time { return now }})
	l := turnlog.New(s, turnlog.Options{Now: func() time.Time { return now }})
	file := filepath.Join(dir, subject.Ballast)
	if info, err := os.Stat(file); err != nil || info.Size() != ballast {
		t.Fatalf("no ballast of %d bytes: %v", ballast, err)
	}
	limit := disk.Used() + room + ballast
	disk.SetQuota(func() int64 {
		info, err := os.Stat(file)
		if err != nil {
			return limit
		}
		return limit - info.Size()
	})
	if !l.HasRoom() {
		t.Error("no room on a disk that has some")
	}
	written := []turnlog.Draft{asked("q", "hi"), started("r", "a")}
	if _, err := l.Append(t.Context(), "c", written...); err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("x", 8<<10)
	n := 2
	var err error
	for offset := 0; err == nil && n < 1000; offset += len(text) {
		if _, err = l.Append(t.Context(), "c", said("r", "a", offset, text)); err == nil {
			n++
		}
	}
	if !errors.Is(err, turnlog.ErrFull) {
		t.Fatalf("on a full disk: %v, want ErrFull", err)
	}
	if l.HasRoom() {
		t.Error("room on a full disk")
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the ballast is still there: %v", err)
	}
	// What closes a run may be larger than the piece that did not fit.
	closing, err := l.Append(t.Context(), "c", said("r", "a", n*len(text), strings.Repeat(text, 4)), ended("r", "a"))
	if err != nil {
		t.Fatalf("the run can't be closed: %v", err)
	}
	if closing[0].Seq != int64(n+1) {
		t.Errorf("closed with seq %d after %d records", closing[0].Seq, n)
	}
	disk.SetQuota(nil)
	if l.HasRoom() {
		t.Error("the ballast was tried again at once")
	}
	now = now.Add(time.Minute)
	if !l.HasRoom() {
		t.Error("no room though the disk has space again")
	}
	if info, err := os.Stat(file); err != nil || info.Size() != ballast {
		t.Errorf("no ballast again: %v", err)
	}
	if _, err := l.Append(t.Context(), "c", asked("q2", "hi")); err != nil {
		t.Error(err)
	}
	if got := readAll(t, s, "c", false); len(got) != n+3 {
		t.Errorf("%d records, want %d", len(got), n+3)
	}
	b := newBook(t)
	b.runs = []id.Run{"r"}
	reindexed(t, subject, s, b)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func testBackup(t *testing.T, subject Subject) {
	b := newBook(t)
	source := mustOpen(t, subject, t.TempDir(), Options{})
	b.story(source, 0, func() {})
	file := filepath.Join(t.TempDir(), "copy")
	if err := subject.Backup(t.Context(), source, file); err != nil {
		t.Fatal(err)
	}
	if err := subject.Backup(t.Context(), source, file); err == nil {
		t.Error("a second backup wrote over the first")
	}
	want := look(t, source, b)
	copied, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	if err := subject.Restore(t.Context(), file, dir, false); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, subject, dir, Options{})
	b.holds(t, s)
	if d := cmp.Diff(want, look(t, s, b)); d != "" {
		t.Errorf("indexes (-source +restored):\n%s", d)
	}
	if s.Epoch() == source.Epoch() || s.Epoch() == "" {
		t.Errorf("the restored store has epoch %q, as the source", s.Epoch())
	}
	if s.Start() <= source.Start() {
		t.Errorf("start number %d after %d", s.Start(), source.Start())
	}
	if err := subject.Restore(t.Context(), file, dir, true); err == nil {
		t.Error("restored under an open store")
	}
	start := s.Start()
	mustClose(t, s)
	if err := subject.Restore(t.Context(), file, dir, false); err == nil {
		t.Error("restored over a store without force")
	}
	mustClose(t, mustOpen(t, subject, dir, Options{}))
	before := files(t, dir)
	if err := subject.Restore(t.Context(), file, dir, true); err != nil {
		t.Fatal(err)
	}
	kept(t, before[subject.Data], dir)
	again := mustOpen(t, subject, dir, Options{})
	if again.Epoch() == s.Epoch() {
		t.Error("a second restore has the epoch of the first")
	}
	if again.Start() <= start+1 {
		t.Errorf("start number %d; the store that was replaced had reached %d", again.Start(), start+1)
	}
	b.holds(t, again)
	if now, err := os.ReadFile(file); err != nil || string(now) != string(copied) {
		t.Errorf("restoring changed the copy (%v)", err)
	}
}

// kept checks that a file's content is still somewhere in a directory.
func kept(t *testing.T, content, dir string) {
	t.Helper()
	for _, c := range files(t, dir) {
		if c == content {
			return
		}
	}
	t.Error("the data that was replaced is gone")
}

// testDamage spoils the beginning of the data in several ways: the store
// refuses to open, says how to go on, and changes nothing.
func testDamage(t *testing.T, subject Subject) {
	damages := []struct {
		name   string
		damage func([]byte) []byte
	}{
		{"garbage", func([]byte) []byte { return []byte("This is a text file that lies where the data should be.\n") }},
		{"a few bytes", func(b []byte) []byte { return b[:7] }},
		{"first page overwritten", func(b []byte) []byte { copy(b[16:4096], make([]byte, 4080)); return b }},
		{"half a page", func(b []byte) []byte { return b[:2048] }},
		{"wrong layout inside", func(b []byte) []byte {
			for i := range b[100:4000] {
				b[100+i] ^= 0x5a
			}
			return b
		}},
	}
	b := newBook(t)
	origin := t.TempDir()
	s := mustOpen(t, subject, origin, Options{})
	b.story(s, 0, func() {})
	mustClose(t, s)
	whole := files(t, origin)[subject.Data]
	for _, d := range damages {
		t.Run(d.name, func(t *testing.T) {
			dir := t.TempDir()
			bad := d.damage([]byte(whole))
			path := filepath.Join(dir, subject.Data)
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := subject.Open(dir, Options{BallastBytes: -1})
			if err == nil {
				t.Fatal("opened", s.Close())
			}
			if !errors.Is(err, subject.Corrupt) {
				t.Errorf("got %v, want %v", err, subject.Corrupt)
			}
			if now, err := os.ReadFile(path); err != nil || string(now) != string(bad) {
				t.Errorf("the damaged data was changed (%v)", err)
			}
		})
	}
}
