package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verbatim/internal/config"
)

// The agent never gets a folder that holds the token.
func TestWorkspaceNeverHoldsTheData(t *testing.T) {
	home := t.TempDir()
	data := filepath.Join(home, "share", "verbatim")
	other := filepath.Join(home, "other")
	link := filepath.Join(t.TempDir(), "link")
	for _, dir := range []string{data, other} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(home, link); err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct{ started, named, want, refused string }{
		"named beside it":                 {started: home, named: other, want: other},
		"named around it":                 {started: other, named: home, refused: "the data directory"},
		"named as it":                     {started: other, named: data, refused: "the data directory"},
		"named around it, through a link": {started: other, named: link, refused: "the data directory"},
		"a name that begins like it":      {started: other, named: filepath.Join(home, "share"), refused: "the data directory"},
		"started beside it":               {started: other, want: other},
		"started in a home folder":        {started: home, want: filepath.Join(data, "workspace")},
		"named and not there":             {started: other, named: filepath.Join(home, "nowhere"), refused: "name an existing folder"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(row.started)
			a := New(config.Config{Data: data, Workspace: row.named}, Options{})
			got, err := a.workspace()
			if row.refused != "" {
				if err == nil || !strings.Contains(err.Error(), row.refused) {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			want, evalErr := filepath.EvalSymlinks(row.want)
			if evalErr != nil {
				t.Fatal(evalErr)
			}
			if got, evalErr = filepath.EvalSymlinks(got); err != nil || evalErr != nil || got != want {
				t.Errorf("got %q, %v; want %q", got, err, want)
			}
		})
	}
}
