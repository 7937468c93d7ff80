package blob

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func openStore(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *Store, data string) string {
	t.Helper()
	name, err := s.Put(t.Context(), []byte(data))
	if err != nil {
		t.Fatal(err)
	}
	return name
}

func all(t *testing.T, s *Store) []string {
	t.Helper()
	names, err := s.All()
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// files are the names in a directory, whatever they are.
func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestBlobsSurviveReopening(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "blobs")
	s := openStore(t, dir)
	contents := map[string]string{}
	for _, data := range []string{"", "one", "one", strings.Repeat("\x00\xff", 1<<17)} {
		contents[put(t, s, data)] = data
	}
	if len(contents) != 4 {
		t.Fatalf("got %d names for 4 blobs", len(contents))
	}
	s = openStore(t, dir)
	for name, want := range contents {
		if !Valid(name) {
			t.Errorf("%q is no valid name", name)
		}
		f, size, err := s.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != want || size != int64(len(want)) {
			t.Errorf("got %d bytes, size %d and %v, want %d bytes", len(got), size, err, len(want))
		}
		if at, err := f.Seek(0, io.SeekEnd); err != nil || at != size {
			t.Errorf("seek to the end: got %d and %v", at, err)
		}
		f.Close()
	}
	if got := all(t, s); len(got) != len(contents) {
		t.Errorf("got %v", got)
	}
}

func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "blobs")
	s := openStore(t, dir)
	name := put(t, s, "private")
	for path, want := range map[string]fs.FileMode{dir: 0o700, filepath.Join(dir, name): 0o600} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want && os.PathSeparator == '/' {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestOpenRefusesAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "blobs")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is a file") {
		t.Errorf("got %v", err)
	}
}

func TestRead(t *testing.T) {
	s := openStore(t, t.TempDir())
	name := put(t, s, "12345")
	if got, err := s.Read(name, 5); err != nil || string(got) != "12345" {
		t.Errorf("got %q and %v", got, err)
	}
	if _, err := s.Read(name, 4); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
	if _, err := s.Read(name[:len(name)-1]+"-", 5); !errors.Is(err, ErrName) {
		t.Errorf("got %v, want ErrName", err)
	}
}

// A name can't lead out of the directory, and not to a file that is no blob.
func TestNamesAreNoPaths(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "blobs")
	s := openStore(t, dir)
	outside := filepath.Join(root, "b_"+strings.Repeat("a", 26))
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"", ".", "..", "b_", "../b_" + strings.Repeat("a", 26), outside, "b_/../../b_" + strings.Repeat("a", 20),
		"b_" + strings.Repeat("a", 25), "b_" + strings.Repeat("a", 63), "b_" + strings.Repeat("A", 26),
		"b_" + strings.Repeat("a", 25) + "\x00", "b_" + strings.Repeat("a", 25) + "\\", "tmp_" + strings.Repeat("a", 26),
	} {
		_, _, openErr := s.Open(name)
		_, readErr := s.Read(name, 100)
		for what, err := range map[string]error{
			"open": openErr, "read": readErr, "delete": s.Delete(name), "import": s.Import(name, strings.NewReader("x")),
		} {
			if !errors.Is(err, ErrName) {
				t.Errorf("%s %q: got %v, want ErrName", what, name, err)
			}
		}
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "secret" {
		t.Errorf("the file outside: got %q and %v", got, err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestDelete(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	gone, stays := put(t, s, "x"), put(t, s, "x")
	for range 2 {
		if err := s.Delete(gone); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.Open(gone); !errors.Is(err, ErrMissing) {
			t.Errorf("got %v, want ErrMissing", err)
		}
	}
	if diff := cmp.Diff(all(t, openStore(t, dir)), []string{stays}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestWriter(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	w, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		fmt.Fprintf(w, "line %d\n", i)
	}
	if got := all(t, s); len(got) != 0 {
		t.Errorf("a blob is there before its commit: %v", got)
	}
	name, size, err := w.Commit()
	if err != nil || size != 21 {
		t.Fatalf("got size %d and %v", size, err)
	}
	w.Abort()
	if again, sizeAgain, err := w.Commit(); again != name || sizeAgain != size || err != nil {
		t.Errorf("the second commit: got %q, %d and %v", again, sizeAgain, err)
	}
	if _, err := w.Write([]byte("more")); err == nil {
		t.Error("a complete blob was written to")
	}
	if got, err := s.Read(name, 100); err != nil || string(got) != "line 0\nline 1\nline 2\n" {
		t.Errorf("got %q and %v", got, err)
	}
}

func TestAbort(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	w, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "half")
	w.Abort()
	w.Abort()
	if _, _, err := w.Commit(); !errors.Is(err, ErrAborted) {
		t.Errorf("commit: got %v, want ErrAborted", err)
	}
	if _, err := w.Write([]byte("x")); !errors.Is(err, ErrAborted) {
		t.Errorf("write: got %v, want ErrAborted", err)
	}
	if got := files(t, dir); len(got) != 0 {
		t.Errorf("left behind: %v", got)
	}
}

func TestSweep(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	kept, lost := put(t, s, "kept"), put(t, s, "lost")
	w, err := s.Create()
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(w, "a crash comes before the end")
	if err := os.WriteFile(filepath.Join(dir, "README"), []byte("someone's own"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tmp_folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, dir)
	n, err := s.Sweep(func(blob string) bool { return blob == kept })
	if err != nil || n != 2 {
		t.Errorf("got %d and %v, want 2: the blob %s and the unfinished one", n, err, lost)
	}
	if diff := cmp.Diff(files(t, dir), []string{"README", kept, "tmp_folder"}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if n, err := s.Sweep(func(blob string) bool { return blob == kept }); n != 0 || err != nil {
		t.Errorf("again: got %d and %v", n, err)
	}
}

func TestImport(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, dir)
	name := "b_" + strings.Repeat("a7", 13)
	long := bytes.Repeat([]byte("0123456789"), 20_000)
	for range 2 {
		if err := s.Import(name, bytes.NewReader(long)); err != nil {
			t.Fatal(err)
		}
	}
	changed := bytes.Clone(long)
	changed[len(changed)-1]++
	for what, other := range map[string][]byte{"shorter": long[:len(long)-1], "longer": append(bytes.Clone(long), 'x'), "changed": changed, "empty": nil} {
		if err := s.Import(name, bytes.NewReader(other)); !errors.Is(err, ErrDiffers) {
			t.Errorf("%s: got %v, want ErrDiffers", what, err)
		}
	}
	if got, err := s.Read(name, 1<<20); err != nil || !bytes.Equal(got, long) {
		t.Errorf("got %d bytes and %v", len(got), err)
	}
	broken := io.MultiReader(strings.NewReader("half"), errReader{})
	if err := s.Import("b_"+strings.Repeat("c", 26), broken); !errors.Is(err, errBroken) {
		t.Errorf("a reader that fails: got %v", err)
	}
	if diff := cmp.Diff(files(t, dir), []string{name}); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

var errBroken = errors.New("broken")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errBroken }
