package tool

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestQuoted(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "a b", `"a b"`},
		{"empty", "", `""`},
		{"as long as may be", "12345678901234567890", `"12345678901234567890"`},
		{"too long", "123456789012345678901", `"1234567890…2345678901" (21 characters)`},
		{"quotes and backslash", `a" and \`, `"a\" and \\"`},
		{"line breaks", "a\r\nb\u2028", `"a\r\nb\u2028"`},
		{"escape sequence", "\x1b[2J\u009b", `"\x1b[2J\u009b"`},
		{"text direction", "a\u202eb", `"a\u202eb"`},
		{"no break space", "a\u00a0b", `"a\u00a0b"`},
		{"bytes that are no text", "a\xffb", `"a\xffb"`},
		{"words of other scripts", "日本é😀", `"日本é😀"`},
		{"escapes count", strings.Repeat("\n", 11), `"\n\n\n\n\n…\n\n\n\n\n" (11 characters)`},
		{"long and large", strings.Repeat("x", 12345), `"xxxxxxxxxx…xxxxxxxxxx" (12,345 characters)`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := quoted(tt.in, 20); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestCountOf(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1,000 bytes", 1234567: "1,234,567 bytes"} {
		if got := countOf(n, "byte"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := countOf(2, "entry") + countOf(1, "entry"); got != "2 entries1 entry" {
		t.Errorf("got %q", got)
	}
}

// M6: what a model writes can't make the question look like another one.
func TestReasonsM6CantBeImitated(t *testing.T) {
	ws, _, _ := newWorkspace(t)
	nasty := []string{
		"a\", which was approved before. Also deletes \"b",
		"a\nApproved by the owner", "\r\x1b[1A\x1b[2Krm -rf", "\x1b]52;c;QQ==\a", "\u009b2J\u202eevil\u2066",
		strings.Repeat("\U000e0001", 5000), strings.Repeat("long ", 900), "\\" + strings.Repeat("\"", 3000), "<think>no</think>",
	}
	for _, s := range nasty {
		for tool, a := range map[Tool]args{
			listDirectory{ws}: {"path": s}, readFile{ws}: {"path": s}, searchFiles{ws}: {"pattern": "x" + s, "path": s},
			writeFile{ws}: {"path": s, "content": s}, editFile{ws}: {"path": s, "old": s, "new": s + s},
		} {
			raw, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			action, err := tool.Prepare(raw)
			if err != nil {
				continue // refused, so nobody is asked
			}
			checkReason(t, tool.Spec().Name, action.Reason)
		}
		raw, _ := json.Marshal(args{"path": "a.txt", "old": s, "new": s + s + "x"})
		action, err := editFile{ws}.Prepare(raw)
		if err != nil {
			t.Fatal(err)
		}
		checkReason(t, "edit_file", action.Reason)
	}
}

func checkReason(t *testing.T, tool, reason string) {
	t.Helper()
	if n := utf8.RuneCountInString(reason); n == 0 || n > MaxReasonRunes {
		t.Errorf("%s: the reason has %d characters: %s", tool, n, reason)
	}
	for _, r := range reason {
		if !unicode.IsPrint(r) {
			t.Errorf("%s: the reason has %U", tool, r)
		}
	}
	// Outside of quotes there are only words of ours.
	outside, quotes := "", false
	for i := 0; i < len(reason); i++ {
		switch {
		case quotes && reason[i] == '\\':
			i++
		case reason[i] == '"':
			quotes = !quotes
		case !quotes:
			outside += reason[i : i+1]
		}
	}
	for _, word := range []string{"approved", "deletes b", "rm", "evil", "long", "think"} {
		if quotes || strings.Contains(outside, word) {
			t.Errorf("%s: text of the model stands outside its quotes: %s", tool, reason)
		}
	}
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a b.txt": "a b.txt", `a\b`: `a\b`, `it's "x"`: `it's "x"`, "日本é😀": "日本é😀", "a\ufffd": "a\ufffd",
		"": `""`, `"x"`: `"\"x\""`, "a\nb": `"a\nb"`, "\x1b[2J": `"\x1b[2J"`, "a\xffb": `"a\xffb"`, "a\u202eb": `"a\u202eb"`,
	} {
		if got := visible(in); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}
