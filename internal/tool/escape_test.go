package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fileTools are all tools that take a path, with the rest of their arguments.
func fileTools(ws *workspace) map[Tool]args {
	return map[Tool]args{
		listDirectory{ws}: {},
		readFile{ws}:      {},
		searchFiles{ws}:   {"pattern": "secret|xyzzy|."},
		writeFile{ws}:     {"content": "overwritten"},
		editFile{ws}:      {"old": "secret", "new": "open"},
	}
}

func with(a args, path string) args {
	a = args{"path": path, "content": a["content"], "pattern": a["pattern"], "old": a["old"], "new": a["new"]}
	for name, value := range a {
		if value == nil {
			delete(a, name)
		}
	}
	return a
}

// checkOutside fails if anything outside of the workspace was shown or changed.
func checkOutside(t *testing.T, what, outside, shown string) {
	t.Helper()
	if strings.Contains(shown, "xyzzy") || strings.Contains(shown, "secret.txt") {
		t.Errorf("%s showed what is outside: %s", what, shown)
	}
	if got := get(t, filepath.Join(outside, "secret.txt")); got != secret {
		t.Fatalf("%s changed the file outside to %q", what, got)
	}
	if got := entries(t, outside); len(got) != 1 {
		t.Fatalf("%s left files outside: %q", what, got)
	}
}

func TestNoPathLeadsOut(t *testing.T) {
	ws, dir, outside := newWorkspace(t)
	put(t, filepath.Join(dir, "sub/in.txt"), "inside")
	links := map[string]string{
		"file":          "../outside/secret.txt",
		"folder":        "../outside",
		"absolute":      outside,
		"absolute file": filepath.Join(outside, "secret.txt"),
		"to itself":     dir,
		"up":            "..",
		"hop":           "sub/hop",
		"sub/hop":       "../../outside",
		"loop":          "loop",
		"new":           "../outside/new.txt",
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	out := []string{
		"..", "../outside", "../outside/secret.txt", "sub/../../outside/secret.txt", "./../outside/secret.txt",
		outside, filepath.Join(outside, "secret.txt"), filepath.Join(dir, "sub/in.txt"), "/", "//" + outside, "/proc/self/root" + outside,
		"~", "~/secret.txt", "file", "folder", "folder/secret.txt", "folder/", "folder/.", "sub/../folder/secret.txt",
		"absolute", "absolute/secret.txt", "absolute file", "up/outside/secret.txt", "up",
		"hop/secret.txt", "sub/hop/secret.txt", "hop", "loop", "loop/x", "new", "folder/new.txt", "folder/deep/new.txt",
		"file\x00.txt", strings.Repeat("../", 1300) + "etc/passwd",
	}
	// These look as if they led out, but name what would be inside.
	odd := []string{
		"to itself/../outside/secret.txt", "folder/../outside/secret.txt", "..././outside", "....//outside/secret.txt", ". ./secret.txt",
		".. /outside/secret.txt", "%2e%2e/outside/secret.txt", "file://" + outside, "~root", `..\outside\secret.txt`, "",
	}
	for _, p := range slices.Concat(out, odd) {
		for tool, a := range fileTools(ws) {
			what := tool.Spec().Name + " " + p
			shown, err := call(t, tool, with(a, p))
			if err != nil {
				shown += err.Error()
			} else if slices.Contains(out, p) {
				t.Errorf("%s was not refused: %s", what, shown)
			}
			// A refusal repeats the path that was asked for, no more.
			shown = strings.ReplaceAll(strings.ReplaceAll(shown, p, ""), filepath.Clean(p), "")
			if slices.Contains(out, p) || err != nil {
				checkOutside(t, what, outside, shown)
			} else {
				checkOutside(t, what, outside, strings.ReplaceAll(shown, "secret.txt", ""))
			}
		}
	}
}

func TestSearchDoesNotFollowLinksOut(t *testing.T) {
	ws, dir, outside := newWorkspace(t)
	put(t, filepath.Join(dir, "a/b.txt"), "word\n")
	for name, to := range map[string]string{"a/out": "../../outside", "a/secret": filepath.Join(outside, "secret.txt"), "a/back": "..", "a/self": "."} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := call(t, searchFiles{ws}, args{"pattern": "word"})
	if err != nil || got != "a/b.txt:1: word\n[not followed: 4 links]\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAClosedWorkspaceIsNotUsed(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "f"), "secret")
	if err := ws.Close(); err != nil {
		t.Fatal(err)
	}
	for tool, a := range fileTools(ws) {
		_, err := call(t, tool, with(a, "f"))
		wantError(t, err, "the workspace is closed because the program stops")
	}
	if got := get(t, filepath.Join(dir, "f")); got != "secret" {
		t.Errorf("got %q", got)
	}
}
