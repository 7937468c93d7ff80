package approval

import (
	"os"
	"strings"
	"testing"
)

// People read in docs/approvals.md which programs a rule takes word for word.
func TestDocsListThePrograms(t *testing.T) {
	page, err := os.ReadFile("../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, list := range map[string]string{
		"runners": "```" + runners + "```", "reachers": "```" + reachers + "```", "gitPlain": "`" + gitPlain + "`",
	} {
		if !strings.Contains(string(page), list) {
			t.Errorf("docs/approvals.md does not have the list %s as it is:\n%s", name, list)
		}
	}
}

func TestListsHaveEachWordOnce(t *testing.T) {
	for name, list := range map[string]string{"runners and reachers": runners + reachers, "shellWords": shellWords, "gitPlain": gitPlain} {
		seen := map[string]bool{}
		for w := range strings.FieldsSeq(list) {
			if seen[w] || w != strings.ToLower(w) {
				t.Errorf("%s: %q is there twice or not in small letters", name, w)
			}
			seen[w] = true
		}
	}
}
