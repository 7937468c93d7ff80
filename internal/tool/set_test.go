package tool

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
)

func openSet(t *testing.T) *Set {
	t.Helper()
	set, err := Open(Config{Workspace: t.TempDir(), Now: time.Now, Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	})
	return set
}

func TestSet(t *testing.T) {
	set := openSet(t)
	want := []struct {
		name string
		risk event.Risk
		side bool
	}{
		{"current_time", event.RiskNone, true},
		{"list_directory", event.RiskLow, true},
		{"read_file", event.RiskLow, true},
		{"search_files", event.RiskLow, true},
		{"write_file", event.RiskMedium, false},
		{"edit_file", event.RiskMedium, false},
		{"run_command", event.RiskHigh, false},
		{"fetch_url", event.RiskMedium, true},
	}
	specs := set.Specs()
	if len(specs) != len(want) {
		t.Fatalf("there are %d tools", len(specs))
	}
	for i, s := range specs {
		if s.Name != want[i].name || s.Risk != want[i].risk || s.ReadOnly != want[i].side || len(s.Description) < 50 {
			t.Errorf("tool %d is %+v", i, s)
		}
		if tool, ok := set.Lookup(s.Name); !ok || tool.Spec().Name != s.Name {
			t.Errorf("%s is not found by its name", s.Name)
		}
	}
	if _, ok := set.Lookup("rm"); ok {
		t.Error("a tool that there is not was found")
	}
}

// parameters reads a tool's schema: the names, the optional ones with a mark.
func parameters(t *testing.T, s Spec) []string {
	t.Helper()
	var schema struct {
		Type       string
		Properties map[string]struct{ Type, Description string }
		Required   []string
		Additional *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(s.Parameters, &schema); err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	if schema.Type != "object" || schema.Additional == nil || *schema.Additional {
		t.Errorf("%s: the schema is not of a closed object: %s", s.Name, s.Parameters)
	}
	names := slices.Clone(schema.Required)
	for name, p := range schema.Properties {
		if p.Type == "" || p.Description == "" {
			t.Errorf("%s: %s has no type or no description", s.Name, name)
		}
		if !slices.Contains(schema.Required, name) {
			names = append(names, name+"?")
		}
	}
	return names
}

// What a schema says is what Prepare takes.
func TestSchemasAreWhatIsTaken(t *testing.T) {
	set := openSet(t)
	good := map[string]any{"path": "a", "pattern": "a", "content": "a", "old": "a", "new": "b", "command": "true", "url": "https://example.com/", "timeout": 5}
	for _, s := range set.Specs() {
		tool, _ := set.Lookup(s.Name)
		all := args{}
		names := parameters(t, s)
		for _, n := range names {
			all[strings.TrimSuffix(n, "?")] = good[strings.TrimSuffix(n, "?")]
		}
		prepare := func(a args) error {
			raw, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			_, err = tool.Prepare(raw)
			return err
		}
		if err := prepare(all); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		for _, n := range names {
			name, optional := strings.CutSuffix(n, "?")
			value := all[name]
			delete(all, name)
			if err := prepare(all); (err == nil) != optional {
				t.Errorf("%s without %s: %v", s.Name, name, err)
			}
			all[name] = []int{1}
			if err := prepare(all); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s with an array as %s: %v", s.Name, name, err)
			}
			all[name] = value
		}
		all["surprise"] = 1
		if err := prepare(all); err == nil || !strings.Contains(err.Error(), "surprise") {
			t.Errorf("%s with another argument: %v", s.Name, err)
		}
	}
}

func TestOpenNeedsAWorkspace(t *testing.T) {
	for _, dir := range []string{"", filepath.Join(t.TempDir(), "gone")} {
		if set, err := Open(Config{Workspace: dir}); err == nil {
			set.Close()
			t.Errorf("opened %q", dir)
		}
	}
}

func TestCloseAgain(t *testing.T) {
	set := openSet(t)
	for range 2 {
		if err := set.Close(); err != nil {
			t.Error(err)
		}
	}
}

// The table of the page is what the tools say of themselves.
func TestThePageListsTheTools(t *testing.T) {
	page, err := os.ReadFile("../../docs/tools.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*) \\| (\\w+) \\| (yes|no) \\|").FindAllStringSubmatch(string(page), -1) {
		got = append(got, strings.Join(m[1:], " | "))
	}
	for _, s := range openSet(t).Specs() {
		names := parameters(t, s)
		for i, n := range names {
			names[i] = "`" + n + "`"
		}
		taken := strings.Join(names, ", ")
		if taken == "" {
			taken = "none"
		}
		want = append(want, s.Name+" | "+taken+" | "+string(s.Risk)+" | "+map[bool]string{true: "yes", false: "no"}[s.ReadOnly])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/tools.md (-tools +page):\n%s", diff)
	}
}
