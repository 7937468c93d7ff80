package internal_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const guaranteesPage = "../docs/guarantees.md"

// promises are the numbers that must have a row in the table of
// guaranteesPage.
var promises = []string{"G1", "G2", "G3", "G4", "G5", "G6", "G7", "G8", "G9", "G10", "G11", "G12"}

// A promise that nobody tries to break is a hope: each has tests, and the page
// that names them is not left behind when one is renamed.
func TestEveryPromiseHasTestsThatExist(t *testing.T) {
	page, err := os.ReadFile(guaranteesPage)
	if err != nil {
		t.Fatal(err)
	}
	exist := testNames(t)
	rows := attackedBy(string(page))
	for _, p := range promises {
		if len(rows[p]) == 0 {
			t.Errorf("%s names no test that tries to break %s", guaranteesPage, p)
		}
	}
	for p, names := range rows {
		if !slices.Contains(promises, p) {
			t.Errorf("%s has a row for %s, which this test doesn't know", guaranteesPage, p)
		}
		for _, name := range names {
			if !exist[name] {
				t.Errorf("%s says that internal/%s tries to break %s, and there is no such test", guaranteesPage, name, p)
			}
		}
	}
}

var (
	promiseRow = regexp.MustCompile(`(?m)^\| (G[0-9]+) \|.*$`)
	codeSpan   = regexp.MustCompile("`([^`]+)`")
)

// attackedBy reads the table: all code in a promise's row is the name of a
// test.
func attackedBy(page string) map[string][]string {
	rows := map[string][]string{}
	for _, row := range promiseRow.FindAllStringSubmatch(page, -1) {
		for _, span := range codeSpan.FindAllStringSubmatch(row[0], -1) {
			rows[row[1]] = append(rows[row[1]], span[1])
		}
	}
	return rows
}

// testNames returns the tests and fuzz targets below internal/ as
// "provider/openai.FuzzFrame".
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, f := range sources(t) {
		pkg, ours := strings.CutPrefix(f.pkg, "internal/")
		if !ours {
			continue
		}
		for _, name := range f.tests {
			names[pkg+"."+name] = true
		}
	}
	return names
}
