// Package golden compares what code makes with what is committed: whole files,
// and sections of txtar archives. It promises that nothing is rewritten unless
// -update was given, and never in CI.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files that differ, then look at the diff; refused where CI is set")

// refusal is why -update does nothing in CI: there a golden file is the judge.
const refusal = "-update is refused where CI is set: run it on your own machine, look at the diff and commit it"

// Updating reports whether golden files are to be rewritten. In CI it fails
// the test instead.
func Updating(tb testing.TB) bool {
	tb.Helper()
	if *update && os.Getenv("CI") != "" {
		tb.Fatal(refusal)
	}
	return *update
}

// File compares got with the file at path, or writes it there when updating. A
// file that is not there counts as empty.
func File(tb testing.TB, path string, got []byte) {
	tb.Helper()
	want, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		tb.Fatal(err)
	}
	if string(want) == string(got) {
		return
	}
	if Updating(tb) {
		write(tb, path, got)
		return
	}
	tb.Errorf("%s differs (-committed +made), see -update:\n%s", path, cmp.Diff(string(want), string(got)))
}

// Story is a txtar archive: a comment that says what it tells, and sections.
type Story struct {
	// Name is the file's name without its extension, Comment what stands
	// before the first section.
	Name    string
	Comment string

	path    string
	archive *txtar.Archive
}

// Stories reads all archives of a directory, in the order of their names. It
// fails the test when there is none.
func Stories(tb testing.TB, dir string) []*Story {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no stories in %s: %v", dir, err)
	}
	stories := make([]*Story, len(paths))
	for i, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		name := filepath.Base(path)
		stories[i] = &Story{
			Name: name[:len(name)-len(".txtar")], Comment: string(archive.Comment), path: path, archive: archive,
		}
	}
	return stories
}

// Section returns a section's content, and false when there is none of this
// name.
func (s *Story) Section(name string) ([]byte, bool) {
	for _, f := range s.archive.Files {
		if f.Name == name {
			return f.Data, true
		}
	}
	return nil, false
}

// Sections returns the names of the sections in order.
func (s *Story) Sections() []string {
	names := make([]string, len(s.archive.Files))
	for i, f := range s.archive.Files {
		names[i] = f.Name
	}
	return names
}

// Compare compares got with a section, or puts it there when updating; other
// sections stay as they are. A section that is not there counts as empty, and
// got must end with a line break unless it is empty, as txtar demands.
func (s *Story) Compare(tb testing.TB, name string, got []byte) {
	tb.Helper()
	want, _ := s.Section(name)
	if string(want) == string(got) {
		return
	}
	if len(got) > 0 && got[len(got)-1] != '\n' {
		tb.Fatalf("%s: section %s does not end with a line break", s.path, name)
	}
	if Updating(tb) {
		s.put(name, got)
		write(tb, s.path, txtar.Format(s.archive))
		return
	}
	tb.Errorf("%s: section %s differs (-committed +made), see -update:\n%s", s.path, name, cmp.Diff(string(want), string(got)))
}

func (s *Story) put(name string, data []byte) {
	for i, f := range s.archive.Files {
		if f.Name == name {
			s.archive.Files[i].Data = data
			return
		}
	}
	s.archive.Files = append(s.archive.Files, txtar.File{Name: name, Data: data})
}

func write(tb testing.TB, path string, data []byte) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
	tb.Logf("%s was rewritten", path)
}
