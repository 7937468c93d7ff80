package tool

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestWriteFile(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	tests := []struct{ name, path, content, want string }{
		{"new", "a.txt", "one\ntwo\n", "wrote a.txt, a new file of 8 bytes\n"},
		{"replaced", "a.txt", "one\n2\nthree", "wrote a.txt: 11 bytes in place of 8 bytes\n--- a.txt\n+++ a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+three\n\\ No newline at end of file\n"},
		{"the same again", "a.txt", "one\n2\nthree", "wrote a.txt: 11 bytes in place of 11 bytes\nthe content is the same as before\n"},
		{"in new folders", "x/y/z.txt", "é", "wrote x/y/z.txt, a new file of 2 bytes\n"},
		{"empty", "empty", "", "wrote empty, a new file of 0 bytes\n"},
		{"exactly", "./exact", "\ufeff \r\n\ta\x00 ", "wrote exact, a new file of 10 bytes\n"},
		{"no text before", "exact", "b\n", "wrote exact: 2 bytes in place of 10 bytes\n"},
		{"large", "large", strings.Repeat("a\n", maxDiffBytes), "wrote large, a new file of 524,288 bytes\n"},
		{"large before", "large", "a\n", "wrote large: 2 bytes in place of 524,288 bytes\n"},
		{"large after", "large", strings.Repeat("a\n", maxDiffBytes), "wrote large: 524,288 bytes in place of 2 bytes\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := call(t, writeFile{ws}, args{"path": tt.path, "content": tt.content})
			if err != nil || got != tt.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, tt.want)
			}
			if got := get(t, filepath.Join(dir, tt.path)); got != tt.content {
				t.Errorf("the file has %d bytes: %.50q", len(got), got)
			}
		})
	}
	for _, name := range entries(t, dir) {
		if strings.HasPrefix(name, ".verbatim") {
			t.Errorf("a draft stays: %s", name)
		}
	}
}

func TestWriteFileRefuses(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "folder/x"), "x")
	put(t, filepath.Join(dir, "file"), "x")
	put(t, filepath.Join(dir, "fixed"), "x")
	if err := os.Chmod(filepath.Join(dir, "fixed"), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, path, want string }{
		{"a folder", "folder", "folder is a folder, not a file"},
		{"a folder by its slash", "new/", "names a folder"},
		{"below a file", "file/x", "file: there is something else of that name"},
		{"a link", "link", "link is a link; nothing was written; name the file that it leads to"},
		{"a file that may only be read", "fixed", "fixed may only be read; nothing was written"},
		{"a name that is too long", strings.Repeat("n", 300), "file name too long"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := call(t, writeFile{ws}, args{"path": tt.path, "content": "new"})
			wantError(t, err, tt.want)
		})
	}
	for _, name := range []string{"file", "fixed", "link", "folder/x"} {
		if got := get(t, filepath.Join(dir, name)); got != "x" {
			t.Errorf("%s is now %q", name, got)
		}
	}
	_, err := call(t, writeFile{ws}, args{"path": "big", "content": strings.Repeat("a", maxWriteBytes+1)})
	wantError(t, err, "the most is 10,485,760 bytes")
	if got := entries(t, dir); len(got) != 4 {
		t.Errorf("something was left: %q", got)
	}
}

func TestWriteFileKeepsTheMode(t *testing.T) {
	ws, dir, outside := newWorkspace(t)
	script := filepath.Join(dir, "run.sh")
	put(t, script, "old\n")
	if err := os.Chmod(script, 0o750); err != nil {
		t.Fatal(err)
	}
	// A hard link to a file elsewhere is cut off, not written through.
	if err := os.Link(filepath.Join(outside, "secret.txt"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"run.sh", "hard"} {
		if _, err := call(t, writeFile{ws}, args{"path": name, "content": "new\n"}); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(script)
	if err != nil || info.Mode().Perm() != 0o750 || get(t, script) != "new\n" {
		t.Errorf("got %v, %v", info.Mode(), err)
	}
	if got := get(t, filepath.Join(outside, "secret.txt")); got != secret {
		t.Errorf("the file outside is now %q", got)
	}
}

func TestWriteFileSaysWhatIsThere(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "old"), "1234")
	for p, want := range map[string]string{
		"old":   `writes 3 bytes to "old" in place of 4 bytes`,
		"x/new": `writes 3 bytes to a new file "x/new"`,
	} {
		raw, _ := json.Marshal(args{"path": p, "content": "abc"})
		action, err := writeFile{ws}.Prepare(raw)
		if err != nil || action.Reason != want || action.Command != "" {
			t.Errorf("got %q, %v; want %q", action.Reason, err, want)
		}
	}
	if got := entries(t, dir); len(got) != 1 {
		t.Errorf("to prepare had an effect: %q", got)
	}
}

func TestAStoppedWriteWritesNothing(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "f"), "old")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for tool, a := range map[Tool]args{writeFile{ws}: {"path": "f", "content": "new"}, editFile{ws}: {"path": "f", "old": "old", "new": "new"}} {
		raw, _ := json.Marshal(a)
		action, err := tool.Prepare(raw)
		if err != nil {
			t.Fatal(err)
		}
		wantError(t, action.Run(ctx, &plainOutput{}), "nothing was written")
	}
	if got := get(t, filepath.Join(dir, "f")); got != "old" || len(entries(t, dir)) != 1 {
		t.Errorf("got %q, %q", got, entries(t, dir))
	}
}

func TestAFileThatChangedMeanwhileIsNotReplaced(t *testing.T) {
	tests := []struct {
		name   string
		before string
		change func(t *testing.T, file string)
	}{
		{"it has come", "", func(t *testing.T, file string) { put(t, file, "by a person") }},
		{"it is longer", "x", func(t *testing.T, file string) { put(t, file, "by a person") }},
		{"it is another", "by a person", func(t *testing.T, file string) {
			put(t, file+"2", "by a person")
			if err := os.Rename(file+"2", file); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ws, dir, _ := newWorkspace(t)
			file := filepath.Join(dir, "f")
			if tt.before != "" {
				put(t, file, tt.before)
			}
			to, err := ws.target("f")
			if err != nil {
				t.Fatal(err)
			}
			defer to.close()
			tt.change(t, file)
			wantError(t, to.write(t.Context(), []byte("by the model")), "f was changed by somebody else meanwhile; nothing was written")
			if got := get(t, file); got != "by a person" || len(entries(t, dir)) != 1 {
				t.Errorf("got %q, %q", got, entries(t, dir))
			}
		})
	}
}

func TestEditFile(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	tests := []struct{ name, before, old, new, after, shown string }{
		{"a word", "a\nb\nc\n", "b", "B", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"deleted", "a\nb\nc\n", "b\n", "", "a\nc\n", "@@ -1,3 +1,2 @@\n a\n-b\n c\n"},
		{"several lines", "a\nb\nc\n", "a\nb", "x", "x\nc\n", "-a\n-b\n+x\n c\n"},
		{"only white space", "a \n", " \n", "\n", "a\n", "-a \n+a\n"},
		{"the whole file", "a", "a", "b\n", "b\n", "-a\n\\ No newline at end of file\n+b\n"},
		{"no expression", "a.b $1\n", "a.b $1", "$1\\1", "$1\\1\n", "+$1\\1\n"},
		{"CRLF stays", "a\r\nb\r\nc\r\n", "a\nb", "a\nx\nb", "a\r\nx\r\nb\r\nc\r\n", "+x\r\n"},
		{"CRLF given", "a\r\nb\r\n", "a\r\nb", "b", "b\r\n", "-a\r\n b\r\n"},
		{"line breaks put into a CRLF file", "a\r\nb\r\n", "b", "x\ny", "a\r\nx\r\ny\r\n", "+x\r\n+y\r\n"},
		{"mixed line ends, LF", "a\r\nb\nc\n", "b\nc", "b\nd", "a\r\nb\nd\n", "+d\n"},
		{"mixed line ends, CRLF", "a\r\nb\r\nc\n", "a\nb", "a\nd", "a\r\nd\r\nc\n", "+d\r\n"},
		{"LF in a file without CRLF", "a\nb\n", "a\nb", "c\r\nd", "c\r\nd\n", "+c\r\n+d\n"},
		{"bytes in another encoding stay", "caf\xe9 and much more text around it\nb\n", "b", "c", "caf\xe9 and much more text around it\nc\n", "+c\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			put(t, filepath.Join(dir, "f"), tt.before)
			got, err := call(t, editFile{ws}, args{"path": "f", "old": tt.old, "new": tt.new})
			if err != nil || !strings.Contains(got, tt.shown) || !strings.HasPrefix(got, "changed f: "+countOf(int64(len(tt.after)), "byte")+", before ") {
				t.Errorf("got %v\n%s\nwant in it\n%s", err, got, tt.shown)
			}
			if got := get(t, filepath.Join(dir, "f")); got != tt.after {
				t.Errorf("the file is %q, want %q", got, tt.after)
			}
		})
	}
}

func TestEditFileRefuses(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	tests := []struct{ name, content, old, new, want string }{
		{"not there", "a\nb\n", "c", "d", "old is not in f; nothing was written"},
		{"other white space", "a\n\tif x {\n\t\ty\n", "  if x {\n    y", "z", "not in f; nothing was written; line 2 differs from it only in white space"},
		{"other line breaks", "one two\n", "one\ntwo", "z", "line 1 differs from it only in white space"},
		{"other case", "a\nHello World\n", "hello world", "z", "line 2 differs from it only in upper and lower case"},
		{"twice", "a\nb\na\n", "a", "c", "old is in f 2 times (lines 1, 3); nothing was written; give more"},
		{"overlapping", "aaa\n", "aa", "b", "old is in f 2 times (lines 1, 1)"},
		{"often", strings.Repeat("a\n", 50), "a", "b", "50 times (lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)"},
		{"very often", strings.Repeat("a\n", 500), "a", "b", "more than 100 times"},
		{"empty old", "a", "", "b", "old is empty"},
		{"no change", "a", "a", "a", "are the same"},
		{"binary", "a\x00b", "a", "b", "f is binary data of 3 bytes"},
		{"too large", strings.Repeat("a", maxWriteBytes+1), "b", "c", "f has 10,485,761 bytes"},
		{"too large after", strings.Repeat("a", maxWriteBytes-1) + "b", "b", "ccc", "the most is 10,485,760 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			put(t, filepath.Join(dir, "f"), tt.content)
			_, err := call(t, editFile{ws}, args{"path": "f", "old": tt.old, "new": tt.new})
			wantError(t, err, tt.want)
			if get(t, filepath.Join(dir, "f")) != tt.content {
				t.Error("the file has changed")
			}
		})
	}
	_, err := call(t, editFile{ws}, args{"path": "gone", "old": "a", "new": "b"})
	wantError(t, err, "gone: there is no file")
}

// Two conversations that edit one file at a time lose neither edit.
func TestEditsAtOnceAreAllKept(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	const n = 20
	var all []string
	for i := range n {
		all = append(all, string(rune('a'+i)))
	}
	put(t, filepath.Join(dir, "f"), strings.Join(all, "\n"))
	var wg sync.WaitGroup
	for _, letter := range all {
		wg.Go(func() {
			if _, err := call(t, editFile{ws}, args{"path": "f", "old": letter, "new": strings.ToUpper(letter)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, want := get(t, filepath.Join(dir, "f")), strings.ToUpper(strings.Join(all, "\n")); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
