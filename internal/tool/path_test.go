package tool

import (
	"strings"
	"testing"
)

func TestCleanPath(t *testing.T) {
	tests := []struct{ name, path, want, refused string }{
		{"workspace", ".", ".", ""},
		{"file", "a.txt", "a.txt", ""},
		{"below", "a/b/c.txt", "a/b/c.txt", ""},
		{"dot first", "./a", "a", ""},
		{"slash last", "a/", "a", ""},
		{"double slash", "a//b", "a/b", ""},
		{"detour inside", "a/../b", "b", ""},
		{"detour to the workspace", "a/..", ".", ""},
		{"two dots in a name", "..a/b..", "..a/b..", ""},
		{"tilde in a name", "~a", "~a", ""},
		{"space", " ", " ", ""},
		{"colon", "a: b", "a: b", ""},
		{"empty", "", "", "is empty"},
		{"parent", "..", "", "leads out of the workspace"},
		{"above", "../a", "", "leads out of the workspace"},
		{"above by a detour", "a/../../b", "", "leads out of the workspace"},
		{"above and back", "../work/a", "", "leads out of the workspace"},
		{"absolute", "/etc/passwd", "", "is absolute"},
		{"only a slash", "/", "", "is absolute"},
		{"two slashes", "//host/share", "", "is absolute"},
		{"home", "~/a", "", "is absolute"},
		{"home alone", "~", "", "is absolute"},
		{"drive", `C:\a`, "", "is absolute"},
		{"drive with a slash", "c:/a", "", "is absolute"},
		{"share", `\\host\a`, "", "is absolute"},
		{"zero byte", "a\x00b", "", "zero byte"},
		{"invalid UTF-8", "a\xff", "", "valid UTF-8"},
		{"very long", strings.Repeat("a/", maxPathBytes), "", "more than 4096 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := cleanPath(tt.path)
			if tt.refused != "" {
				wantError(t, err, tt.refused)
				return
			}
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestCleanFilePath(t *testing.T) {
	for _, p := range []string{".", "a/", "a/.", "a/..", "./"} {
		if got, err := cleanFilePath(p); err == nil {
			t.Errorf("%q was taken for the file %q", p, got)
		}
	}
	for _, p := range []string{"a\nb", "a\x1b[2J", "a\u202etxt.exe", "a\u200bb"} {
		_, err := cleanFilePath(p)
		wantError(t, err, "can't be seen")
	}
	if got, err := cleanFilePath("für/日本 語.txt"); err != nil || got != "für/日本 語.txt" {
		t.Errorf("got %q, %v", got, err)
	}
}
