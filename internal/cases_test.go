package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const casesPage = "../docs/cases.md"

// kinds are the letters of the cases that casesPage must place, with how many
// each kind has. Those of other kinds may be there too.
var kinds = map[string]int{"A": 8, "B": 7, "C": 4, "D": 8, "E": 5, "F": 6, "G": 6, "H": 6, "I": 7, "J": 8, "K": 4, "M": 6}

var (
	caseRow   = regexp.MustCompile(`(?m)^\| ([A-Z][0-9]+) \|.*$`)
	laterRow  = regexp.MustCompile(`(?m)^\| ([A-Z][0-9]+[^|]*) \|`)
	caseRange = regexp.MustCompile(`([A-Z])([0-9]+)(?: to [A-Z]([0-9]+))?`)
)

// Every case is either tried by tests that exist and know its id, or waits for a
// part that is still to come; never both, and none is forgotten.
func TestEveryCaseHasTestsThatExist(t *testing.T) {
	raw, err := os.ReadFile(casesPage)
	if err != nil {
		t.Fatal(err)
	}
	now, later, _ := strings.Cut(string(raw), "## Not here yet")
	tests, exist := textOfTests(t)
	tried := map[string]bool{}
	for _, row := range caseRow.FindAllStringSubmatch(now, -1) {
		id := row[1]
		tried[id] = true
		names := codeSpan.FindAllStringSubmatch(row[0][strings.LastIndex(row[0][:len(row[0])-1], "|"):], -1)
		if len(names) == 0 {
			t.Errorf("%s names no test of %s", casesPage, id)
		}
		for _, name := range names {
			switch {
			case !exist[name[1]]:
				t.Errorf("%s says that %s tries %s, and there is no such test", casesPage, name[1], id)
			case !knows(tests[name[1]], name[1], id):
				t.Errorf("%s says that %s tries %s, and its package does not mention it", casesPage, name[1], id)
			}
		}
	}
	waits := map[string]bool{}
	for _, row := range laterRow.FindAllStringSubmatch(later, -1) {
		for _, id := range idsIn(row[1]) {
			waits[id] = true
		}
	}
	for letter, n := range kinds {
		for i := range n {
			id := letter + string(rune('1'+i))
			if tried[id] == waits[id] {
				t.Errorf("%s: %s has tests: %v, waits for a part to come: %v", casesPage, id, tried[id], waits[id])
			}
		}
	}
}

// idsIn reads "A1, B1 to B3".
func idsIn(text string) (ids []string) {
	for _, m := range caseRange.FindAllStringSubmatch(text, -1) {
		last := m[2]
		if m[3] != "" {
			last = m[3]
		}
		for n := m[2][0]; n <= last[0]; n++ {
			ids = append(ids, m[1]+string(n))
		}
	}
	return ids
}

// textOfTests returns the text of a test's package's test files by the test's
// name, such as "provider/openai.TestStream", and which tests there are.
func textOfTests(t *testing.T) (text map[string]string, exist map[string]bool) {
	t.Helper()
	byPackage, exist := map[string]string{}, map[string]bool{}
	names := map[string]string{}
	for _, f := range sources(t) {
		if !f.test {
			continue
		}
		raw, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(f.pkg, "internal/")
		byPackage[pkg] += string(raw)
		for _, name := range f.tests {
			names[pkg+"."+name], exist[pkg+"."+name] = pkg, true
		}
	}
	text = map[string]string{}
	for name, pkg := range names {
		text[name] = byPackage[pkg]
	}
	return text, exist
}

// knows reports whether a test has the id of a case in its name, in a row or in a
// comment, or in the name of one of its stories.
func knows(text, name, id string) bool {
	if strings.HasSuffix(name, ".TestStories") {
		stories, err := filepath.Glob("../testdata/transcripts/" + id + "-*")
		return err == nil && len(stories) > 0
	}
	return slices.ContainsFunc([]string{text, name}, regexp.MustCompile(`(?:[^A-Za-z0-9]|[a-z0-9])`+id+`(?:[^0-9]|$)`).MatchString)
}
