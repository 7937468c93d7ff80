package golden

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const story = `A short story.
-- events.jsonl --
one
-- state.md --
two
`

func TestStoryIsReadAndCompared(t *testing.T) {
	s := read(t)
	if s.Name != "a" || s.Comment != "A short story.\n" {
		t.Errorf("got %q and %q", s.Name, s.Comment)
	}
	if diff := cmp.Diff([]string{"events.jsonl", "state.md"}, s.Sections()); diff != "" {
		t.Error(diff)
	}
	if _, ok := s.Section("sse.txt"); ok {
		t.Error("a section that is not there was found")
	}
	if said := try(t, func(tb testing.TB) { s.Compare(tb, "state.md", []byte("two\n")) }); said != "" {
		t.Errorf("an equal section: %s", said)
	}
	for name, got := range map[string]string{"state.md": "three\n", "sse.txt": "new\n"} {
		said := try(t, func(tb testing.TB) { s.Compare(tb, name, []byte(got)) })
		if !strings.Contains(said, name) || !strings.Contains(said, "-update") {
			t.Errorf("a section that differs: %q", said)
		}
	}
	if on := onDisk(t, s.path); on != story {
		t.Errorf("the file was touched:\n%s", on)
	}
}

func TestUpdateRewritesOneSection(t *testing.T) {
	t.Setenv("CI", "")
	updating(t)
	s := read(t)
	s.Compare(t, "state.md", []byte("three\n"))
	s.Compare(t, "sse.txt", []byte("new\n"))
	want := "A short story.\n-- events.jsonl --\none\n-- state.md --\nthree\n-- sse.txt --\nnew\n"
	if diff := cmp.Diff(want, onDisk(t, s.path)); diff != "" {
		t.Error(diff)
	}
	said := try(t, func(tb testing.TB) { s.Compare(tb, "state.md", []byte("no line break")) })
	if !strings.Contains(said, "line break") {
		t.Errorf("got %q", said)
	}
}

func TestFileIsComparedAndRewritten(t *testing.T) {
	t.Setenv("CI", "")
	path := filepath.Join(t.TempDir(), "docs", "page.md")
	if said := try(t, func(tb testing.TB) { File(tb, path, []byte("page\n")) }); !strings.Contains(said, "page.md differs") {
		t.Errorf("a file that is not there: %q", said)
	}
	updating(t)
	File(t, path, []byte("page\n"))
	*update = false
	if said := try(t, func(tb testing.TB) { File(tb, path, []byte("page\n")) }); said != "" {
		t.Errorf("after the update: %s", said)
	}
}

func TestUpdateIsRefusedInCI(t *testing.T) {
	t.Setenv("CI", "true")
	updating(t)
	s := read(t)
	said := try(t, func(tb testing.TB) { s.Compare(tb, "state.md", []byte("three\n")) })
	if said != refusal {
		t.Errorf("got %q", said)
	}
	if on := onDisk(t, s.path); on != story {
		t.Errorf("the file was touched:\n%s", on)
	}
}

func TestNoStoriesIsAFailure(t *testing.T) {
	if said := try(t, func(tb testing.TB) { Stories(tb, t.TempDir()) }); !strings.Contains(said, "no stories") {
		t.Errorf("got %q", said)
	}
}

func read(t *testing.T) *Story {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txtar"), []byte(story), 0o600); err != nil {
		t.Fatal(err)
	}
	return Stories(t, dir)[0]
}

func onDisk(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func updating(t *testing.T) {
	before := *update
	*update = true
	t.Cleanup(func() { *update = before })
}

// try runs f against a witness and returns what it complained of.
func try(t *testing.T, f func(testing.TB)) string {
	w := &witness{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		f(w)
	}()
	<-done
	return w.said
}

// witness is a test that remembers its failure instead of failing.
type witness struct {
	testing.TB
	said string
}

func (w *witness) Helper()                        {}
func (w *witness) Errorf(format string, a ...any) { w.said += fmt.Sprintf(format, a...) }
func (w *witness) Fatalf(format string, a ...any) {
	w.Errorf(format, a...)
	runtime.Goexit()
}
func (w *witness) Fatal(a ...any) {
	w.said += fmt.Sprint(a...)
	runtime.Goexit()
}
