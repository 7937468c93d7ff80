package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCurrentTime(t *testing.T) {
	at := time.Date(2026, 7, 3, 22, 4, 5, 0, time.UTC)
	tests := []struct {
		name string
		zone *time.Location
		want string
	}{
		{"UTC", time.UTC, "2026-07-03T22:04:05Z, Friday (time zone UTC, UTC+00:00)\n"},
		{"next day there", time.FixedZone("Asia/Tokyo", 9*3600), "2026-07-04T07:04:05+09:00, Saturday (time zone Asia/Tokyo, UTC+09:00)\n"},
		{"half an hour", time.FixedZone("", -(3*3600 + 1800)), "2026-07-03T18:34:05-03:30, Friday (time zone UTC-03:30)\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := call(t, currentTime{now: func() time.Time { return at }, location: tt.zone}, args{})
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestListDirectory(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "b.txt"), "12345")
	put(t, filepath.Join(dir, "a/x"), strings.Repeat("x", 1234))
	put(t, filepath.Join(dir, "C"), "1")
	put(t, filepath.Join(dir, "line\nbreak"), "")
	if err := os.MkdirAll(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"to file": "b.txt", "to folder": "a", "to nothing": "gone", "out": "../outside"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ path, want string }{
		{".", "the workspace has 9 entries\nC  1 byte\na/\nb.txt  5 bytes\nempty/\n\"line\\nbreak\"  0 bytes\nout -> ../outside (a link that can't be followed)\nto file -> b.txt\nto folder -> a/\nto nothing -> gone (a link that can't be followed)\n"},
		{"a", "a/ has 1 entry\nx  1,234 bytes\n"},
		{"./a/", "a/ has 1 entry\nx  1,234 bytes\n"},
		{"to folder", "to folder/ has 1 entry\nx  1,234 bytes\n"},
		{"empty", "empty/ is empty\n"},
	}
	for _, tt := range tests {
		if got, err := call(t, listDirectory{ws}, args{"path": tt.path}); err != nil || got != tt.want {
			t.Errorf("%s: got %v\n%s\nwant\n%s", tt.path, err, got, tt.want)
		}
	}
	for p, want := range map[string]string{"gone": "gone: there is no file or folder", "b.txt": "b.txt is a file, not a folder", "b.txt/x": "is a file and no folder"} {
		_, err := call(t, listDirectory{ws}, args{"path": p})
		wantError(t, err, want)
	}
}

func TestListDirectoryIsBounded(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	for i := range maxEntriesShown + 5 {
		put(t, filepath.Join(dir, fmt.Sprintf("f%05d", i)), "")
	}
	got, err := call(t, listDirectory{ws}, args{"path": "."})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if lines[0] != "the workspace has 1,005 entries; the first 1000 are shown" || len(lines) != 1+maxEntriesShown || lines[1000] != "f00999  0 bytes" {
		t.Errorf("got %d lines, %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestReadFile(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	exact := "\ufeff  a\r\n\tb\x1b[1m é日😀 \n\n\n"
	put(t, filepath.Join(dir, "exact"), exact)
	put(t, filepath.Join(dir, "empty"), "")
	put(t, filepath.Join(dir, "latin1"), "caf\xe9 cr\xe8me and more of it, so that it is text after all\n")
	put(t, filepath.Join(dir, "BM.txt"), "BMW makes cars\n")
	if err := os.Symlink("exact", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"exact": exact, "link": exact, "empty": "", "BM.txt": "BMW makes cars\n", "latin1": "caf\xe9 cr\xe8me and more of it, so that it is text after all\n"} {
		if got, err := call(t, readFile{ws}, args{"path": name}); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestReadFileRefuses(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "folder/x"), "")
	put(t, filepath.Join(dir, "p.png"), "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"+strings.Repeat("\x00", 100))
	put(t, filepath.Join(dir, "d.pdf"), "%PDF-1.4\nplain enough\n")
	put(t, filepath.Join(dir, "u16"), "\xff\xfea\x00b\x00")
	put(t, filepath.Join(dir, "bin"), "\x7fELF\x02\x01\x01\x00")
	put(t, filepath.Join(dir, "noise"), strings.Repeat("\xfe\x90\x05a", 100))
	put(t, filepath.Join(dir, "late"), strings.Repeat("text\n", sniffBytes)+"\x00")
	put(t, filepath.Join(dir, "x.gz"), "\x1f\x8b\x08\x00"+strings.Repeat("\x00", 1500))
	tests := []struct{ path, want string }{
		{"folder", "folder is a folder, not a file; list_directory"},
		{"gone", "gone: there is no file or folder"},
		{"p.png", "p.png is an image (image/png) of 116 bytes, not text"},
		{"d.pdf", "d.pdf is a PDF document of 22 bytes"},
		{"u16", "u16 is text in UTF-16"},
		{"bin", "bin is binary data of 8 bytes"},
		{"noise", "noise is binary data of 400 bytes"},
		{"late", "late is binary data of 40,961 bytes"},
		{"x.gz", "x.gz is binary data (application/x-gzip) of 1,504 bytes"},
	}
	for _, tt := range tests {
		got, err := call(t, readFile{ws}, args{"path": tt.path})
		wantError(t, err, tt.want)
		if got != "" {
			t.Errorf("%s: content was shown: %q", tt.path, got)
		}
	}
}

func TestReadFileOfALargeFileReadsItsEnd(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	line := "line é of the file\n"
	size := 2*maxReadBytes/len(line) + 1
	put(t, filepath.Join(dir, "lines"), strings.Repeat(line, size))
	put(t, filepath.Join(dir, "one line"), strings.Repeat("é", maxReadBytes)+"x")
	got, err := call(t, readFile{ws}, args{"path": "lines"})
	if err != nil {
		t.Fatal(err)
	}
	content, note, _ := strings.Cut(got, "[")
	if len(content) > maxReadBytes || len(content) < maxReadBytes-len(line) || strings.ReplaceAll(content, line, "") != "" {
		t.Errorf("got %d bytes that begin %q and end %q", len(content), content[:40], content[len(content)-40:])
	}
	if want := fmt.Sprintf("the file has %s; its first %s were not read]\n", countOf(int64(size*len(line)), "byte"), countOf(int64(size*len(line)-len(content)), "byte")); note != want {
		t.Errorf("got note %q, want %q", note, want)
	}
	got, err = call(t, readFile{ws}, args{"path": "one line"})
	content, _, _ = strings.Cut(got, "\n[")
	if err != nil || strings.Trim(content, "é") != "x" || len(content) < maxReadBytes-4 {
		t.Errorf("got %d bytes, %v", len(content), err)
	}
}

func TestSearchFiles(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "a.go"), "package a\r\n\r\nfunc A() {}\r\n")
	put(t, filepath.Join(dir, "sub/b.go"), "package b\n// calls A() twice\nlast line without a break A()")
	put(t, filepath.Join(dir, "sub/notes.md"), "nothing about a.*go\nlong "+strings.Repeat("x", 1000)+" needle "+strings.Repeat("y", 1000)+"\n")
	put(t, filepath.Join(dir, "node_modules/m/index.js"), "func A() {}\n")
	put(t, filepath.Join(dir, ".git/config"), "func A() {}\n")
	put(t, filepath.Join(dir, "image.bin"), "func A()\x00")
	if err := os.Symlink("a.go", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	passed := "[passed over: .git, node_modules]\n[not text: image.bin]\n[not followed: 1 link]\n"
	tests := []struct {
		name, pattern, path, want string
	}{
		{"expression", `A\(\)`, "", "a.go:3: func A() {}\nsub/b.go:2: // calls A() twice\nsub/b.go:3: last line without a break A()\n" + passed},
		{"in a folder", `^package \w$`, "sub", "sub/b.go:1: package b\n"},
		{"in a file", `package`, "a.go", "a.go:1: package a\n"},
		{"in a folder that is passed over", `func`, "node_modules", "node_modules/m/index.js:1: func A() {}\n"},
		{"end of a line is before its break", `\}$`, "a.go", "a.go:3: func A() {}\n"},
		{"any case", `(?i)PACKAGE A`, "a.go", "a.go:1: package a\n"},
		{"glob", `*.go`, "", "a.go\nsub/b.go\n[the pattern is no regular expression; it was searched for literally]\n" + passed},
		{"glob of a path", `sub/*.md`, "sub", "sub/notes.md\n"},
		{"names", `notes`, "", "sub/notes.md\n" + passed},
		{"no expression", `A() {`, "sub", "[nothing was found in 2 files]\n"},
		{"taken literally", `a.*(`, "sub", "[nothing was found in 2 files]\n[the pattern is no regular expression; it was searched for literally]\n"},
		{"nothing", `zebra`, "a.go", "[nothing was found in 1 file]\n"},
		{"long line", `needle`, "sub", "sub/notes.md:2: …" + strings.Repeat("x", 99) + " needle " + strings.Repeat("y", 193) + "…\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := args{"pattern": tt.pattern}
			if tt.path != "" {
				a["path"] = tt.path
			}
			got, err := call(t, searchFiles{ws}, a)
			if err != nil || got != tt.want {
				t.Errorf("got %v\n%s\nwant\n%s", err, got, tt.want)
			}
		})
	}
}

func TestSearchFilesRefuses(t *testing.T) {
	ws, _, _ := newWorkspace(t)
	tests := []struct {
		name string
		args args
		want string
	}{
		{"empty pattern", args{"pattern": ""}, "the pattern is empty"},
		{"long pattern", args{"pattern": strings.Repeat("a", 1001)}, "more than 1000 bytes"},
		{"costly pattern", args{"pattern": `(.{1000})(.{1000})(.{1000})`}, "repeats too much"},
		{"no such folder", args{"pattern": "a", "path": "gone"}, "there is no file or folder"},
	}
	for _, tt := range tests {
		_, err := call(t, searchFiles{ws}, tt.args)
		wantError(t, err, tt.want)
	}
}

func TestSearchFilesIsBounded(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "many"), strings.Repeat("hit\n", maxFound+1))
	got, err := call(t, searchFiles{ws}, args{"pattern": "hit"})
	if err != nil || strings.Count(got, "many:") != maxFound || !strings.HasSuffix(got, "many:500: hit\n[there is more: it stopped after 500 results; narrow the pattern or the path]\n") {
		t.Errorf("got %v and the end %q", err, got[max(0, len(got)-200):])
	}
	put(t, filepath.Join(dir, "many"), "needle"+strings.Repeat("x", 2*maxLineBytes)+"needle\nneedle\n")
	got, err = call(t, searchFiles{ws}, args{"pattern": "needle"})
	want := "many:1: needle" + strings.Repeat("x", 294) + "…\nmany:2: needle\n[of 1 very long line only the first 64 KiB were searched]\n"
	if err != nil || got != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, got, want)
	}
}

func TestSearchFilesGoesOnlySoDeep(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	put(t, filepath.Join(dir, "top"), "hit\n")
	deep := strings.TrimSuffix(strings.Repeat("d/", maxWalkDepth+1), "/")
	put(t, filepath.Join(dir, deep, "low"), "hit\n")
	got, err := call(t, searchFiles{ws}, args{"pattern": "hit"})
	if want := "top:1: hit\n[not readable: " + deep + ": more than 64 folders deep]\n"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestSearchFilesStops(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	for i := range 50 {
		put(t, filepath.Join(dir, fmt.Sprint("f", i)), "hit\nhit\n")
	}
	raw, _ := json.Marshal(args{"pattern": "hit"})
	action, err := searchFiles{ws}.Prepare(raw)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := &cancellingOutput{cancel: cancel}
	err = action.Run(ctx, out)
	wantError(t, err, "stopped before it was done")
	if out.writes != 1 {
		t.Errorf("%d results after the stop", out.writes-1)
	}
}

// cancellingOutput stops the call at its first output.
type cancellingOutput struct {
	cancel context.CancelFunc
	writes int
}

func (o *cancellingOutput) Write(p []byte) (int, error) {
	o.writes++
	o.cancel()
	return len(p), nil
}

func (o *cancellingOutput) Live() {}
