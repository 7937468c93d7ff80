package blob

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// steps counts what is done to the disk and lets one step go wrong.
type steps struct {
	disk
	n int
	// did are the steps so far.
	did []string
	// fails is the step that fails with err, counted from 1; it has no effect.
	fails int
	err   error
	// dead makes every later step fail too, as after a crash.
	dead bool
	// short makes a write that fails keep half of its bytes.
	short bool
}

func (s *steps) step(what string) error {
	s.n++
	s.did = append(s.did, what)
	if s.n == s.fails || s.dead && s.fails > 0 && s.n > s.fails {
		return s.err
	}
	return nil
}

func (s *steps) create(path string) (file, error) {
	if err := s.step("create"); err != nil {
		return nil, err
	}
	f, err := s.disk.create(path)
	return &steppedFile{file: f, steps: s}, err
}

func (s *steps) rename(from, to string) error {
	if err := s.step("rename"); err != nil {
		return err
	}
	return s.disk.rename(from, to)
}

func (s *steps) remove(path string) error {
	if err := s.step("remove"); err != nil {
		return err
	}
	return s.disk.remove(path)
}

func (s *steps) syncDir(dir string) error {
	if err := s.step("sync the folder"); err != nil {
		return err
	}
	return s.disk.syncDir(dir)
}

type steppedFile struct {
	file
	steps *steps
}

func (f *steppedFile) Write(p []byte) (int, error) {
	if err := f.steps.step("write"); err != nil {
		if !f.steps.short {
			return 0, err
		}
		n, _ := f.file.Write(p[:len(p)/2])
		return n, err
	}
	return f.file.Write(p)
}

func (f *steppedFile) Sync() error {
	if err := f.steps.step("sync"); err != nil {
		return err
	}
	return f.file.Sync()
}

func (f *steppedFile) Close() error {
	err := f.steps.step("close")
	return errors.Join(err, f.file.Close()) // the process's end closes it too
}

var errPower = errors.New("the power is gone")

// write stores a blob in two pieces and deletes it again.
func write(s *Store) (name string, err error) {
	w, err := s.Create()
	if err != nil {
		return "", err
	}
	defer w.Abort()
	for _, piece := range []string{"first half, ", "second half"} {
		if _, err := w.Write([]byte(piece)); err != nil {
			return "", err
		}
	}
	name, _, err = w.Commit()
	return name, err
}

const written = "first half, second half"

// A crash at any step leaves no blob or a whole one, and nothing that the next
// start does not clear away.
func TestACrashLeavesNothingOrAll(t *testing.T) {
	for _, short := range []bool{false, true} {
		for at := 1; ; at++ {
			dir := t.TempDir()
			d := &steps{disk: osDisk{}, fails: at, err: errPower, dead: true, short: short}
			s, err := open(dir, d)
			if err != nil {
				t.Fatal(err)
			}
			name, err := write(s)
			if d.n < at {
				if at < 6 || err != nil {
					t.Fatalf("%d steps and %v", d.n, err)
				}
				break
			}
			if !errors.Is(err, errPower) || name != "" {
				t.Errorf("step %d: got %q and %v, want the error", at, name, err)
			}
			s = openStore(t, dir)
			for _, blob := range all(t, s) {
				if got, err := s.Read(blob, 100); err != nil || string(got) != written {
					t.Errorf("step %d: a blob holds %q (%v), want nothing or all", at, got, err)
				}
			}
			if _, err := s.Sweep(func(string) bool { return false }); err != nil {
				t.Fatal(err)
			}
			if got := files(t, dir); len(got) != 0 {
				t.Errorf("step %d: left behind: %v", at, got)
			}
		}
	}
}

// Bytes are on the disk before they have a name, and the name is before anybody
// hears of it.
func TestOrderOfSteps(t *testing.T) {
	d := &steps{disk: osDisk{}}
	s, err := open(t.TempDir(), d)
	if err != nil {
		t.Fatal(err)
	}
	name := put(t, s, "x")
	made := []string{"create", "write", "sync", "close", "rename", "sync the folder"}
	if diff := cmp.Diff(d.did, made); diff != "" {
		t.Errorf("put (-got +want):\n%s", diff)
	}
	d.did = nil
	if err := s.Import("b_"+strings.Repeat("i", 26), strings.NewReader("x")); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(d.did, made); diff != "" {
		t.Errorf("import (-got +want):\n%s", diff)
	}
	d.did = nil
	if err := s.Delete(name); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(d.did, []string{"remove", "sync the folder"}); diff != "" {
		t.Errorf("delete (-got +want):\n%s", diff)
	}
}

// A step that fails in a process that lives on leaves nothing, at once.
func TestAFullDiskKeepsNothing(t *testing.T) {
	for at := 1; ; at++ {
		dir := t.TempDir()
		d := &steps{disk: osDisk{}, fails: at, err: fmt.Errorf("write: %w", syscall.ENOSPC), short: true}
		s, err := open(dir, d)
		if err != nil {
			t.Fatal(err)
		}
		_, err = write(s)
		if d.n < at {
			break
		}
		if !errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("step %d: got %v, want ErrFull", at, err)
		}
		if got := files(t, dir); len(got) != 0 {
			t.Errorf("step %d: left behind: %v", at, got)
		}
	}
}

func TestAFailedWriteStays(t *testing.T) {
	d := &steps{disk: osDisk{}, fails: 2, err: syscall.ENOSPC}
	s, err := open(t.TempDir(), d)
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := w.Write([]byte("x")); !errors.Is(err, ErrFull) {
			t.Errorf("write: got %v, want ErrFull", err)
		}
	}
	if _, _, err := w.Commit(); !errors.Is(err, ErrFull) {
		t.Errorf("commit: got %v, want ErrFull", err)
	}
}

func TestDeleteThatCannotBeMadeDurable(t *testing.T) {
	dir := t.TempDir()
	name := put(t, openStore(t, dir), "x")
	for at, what := range []string{"remove", "sync"} {
		s, err := open(dir, &steps{disk: osDisk{}, fails: at + 1, err: errPower})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(name); !errors.Is(err, errPower) {
			t.Errorf("%s: got %v, want the error", what, err)
		}
		if err := s.Delete(name); err != nil {
			t.Errorf("%s: again: %v", what, err)
		}
	}
}

// What can't be removed does not keep the rest.
func TestSweepGoesOn(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		put(t, openStore(t, dir), "x")
	}
	s, err := open(dir, &steps{disk: osDisk{}, fails: 2, err: errPower})
	if err != nil {
		t.Fatal(err)
	}
	n, err := s.Sweep(func(string) bool { return false })
	if n != 2 || !errors.Is(err, errPower) || len(files(t, dir)) != 1 {
		t.Errorf("got %d and %v, %d are left", n, err, len(files(t, dir)))
	}
}

func TestManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	imported := "b_" + strings.Repeat("z", 26)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			data := fmt.Sprintf("blob %d", i)
			name, err := s.Put(t.Context(), []byte(data))
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := s.Read(name, 100); err != nil || string(got) != data {
				t.Errorf("got %q and %v, want %q", got, err, data)
			}
			if err := s.Import(imported, strings.NewReader("same")); err != nil {
				t.Error(err)
			}
			if err := s.Delete(name); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := files(t, dir); len(got) != 1 || got[0] != imported {
		t.Errorf("got %v, want %s alone", got, imported)
	}
}
