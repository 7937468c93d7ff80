package term

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Each row is a thing that a model or a tool might print; M6 in the names are
// shapes from reports about driven terminals.
var rows = []struct{ name, in, want string }{
	{"plain text", "Hello, world.\n\tIndented", "Hello, world.\n\tIndented"},
	{"M6 text beyond ASCII", "é中🌍", "é中🌍"},
	{"M6 clipboard", "a\x1b]52;c;QQ==\x07b", "ab"},
	{"clipboard closed by ESC backslash", "a\x1b]52;c;QQ==\x1b\\b", "ab"},
	{"clipboard closed by U+009C", "a\x1b]52;c;QQ==\u009cb", "ab"},
	{"M6 clear screen", "a\x1b[2Jb", "ab"},
	{"colour", "a\x1b[1;31mred\x1b[0m", "ared"},
	{"M6 unterminated string ends with its line", "a\x1b]0;title\nb", "a\nb"},
	{"unterminated string at the end", "a\x1b]0;title", "a"},
	{"M6 U+009B", "a\u009b31mb", "ab"},
	{"U+009D title", "a\u009d0;title\x07b", "ab"},
	{"device control string", "a\x1bP1$r0m\x1b\\b", "ab"},
	{"privacy and application strings", "a\x1b^x\x1b\\b\x1b_y\x1b\\c\x1bXz\x1b\\d", "abcd"},
	{"other C1 characters", "a\u0085\u0084b", "ab"},
	{"M6 overprint", "rm -rf /\rAllow? yes", "rm -rf /\nAllow? yes"},
	{"CR LF is one line break", "a\r\nb\r\n", "a\nb\n"},
	{"CR CR LF", "a\r\r\nb", "a\n\nb"},
	{"backspace, bell, delete, NUL", "a\bb\x07c\x7fd\x00e", "abcde"},
	{"vertical tab, form feed, shifts", "a\vb\fc\x0e\x0fd", "abcd"},
	{"character set", "a\x1b(0b", "ab"},
	{"full reset", "a\x1bcb", "ab"},
	{"save and restore", "a\x1b7b\x1b8c", "abc"},
	{"ESC before a letter beyond ASCII", "a\x1bé", "aé"},
	{"broken CSI keeps what follows", "a\x1b[12é", "aé"},
	{"CSI broken by a line", "a\x1b[12\nb", "a\nb"},
	{"sequence inside a sequence", "a\x1b[1\x1b[2Jb", "ab"},
	{"string ended by another sequence", "a\x1b]0;t\x1b[2Jb", "ab"},
	{"cancelled sequence", "a\x1b]0;t\x18b", "ab"},
	{"double ESC", "a\x1b\x1b[2Jb", "ab"},
	{"bare ESC at the end", "a\x1b", "a"},
	{"bytes that are not UTF-8", "a\x9b31mb\xff", "a\uFFFD31mb\uFFFD"},
	{"character cut at the end", "a\xe4\xb8", "a\uFFFD"},
	{"payload beyond ASCII", "a\x1b]0;é中\x07b", "ab"},
	{"joiners and marks stay", "👩‍🚀 e\u0301", "👩‍🚀 e\u0301"},
}

func TestClean(t *testing.T) {
	for _, tc := range rows {
		t.Run(tc.name, func(t *testing.T) {
			if got := Clean(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// The same text in any two pieces, and byte by byte, comes out the same.
func TestFilterAnyPartition(t *testing.T) {
	for _, tc := range rows {
		for cut := range len(tc.in) + 1 {
			if got := inPieces(tc.in[:cut], tc.in[cut:]); got != tc.want {
				t.Errorf("%s, cut at %d: got %q, want %q", tc.name, cut, got, tc.want)
			}
		}
		if got := inPieces(strings.Split(tc.in, "")...); utf8.ValidString(tc.in) && got != tc.want {
			t.Errorf("%s, by characters: got %q, want %q", tc.name, got, tc.want)
		}
	}
}

func inPieces(pieces ...string) string {
	var f Filter
	var b []byte
	for _, p := range pieces {
		b = f.Append(b, p)
	}
	return string(f.Flush(b))
}

func TestFlushForgets(t *testing.T) {
	var f Filter
	f.Append(nil, "\x1b]0;open")
	f.Flush(nil)
	if got := string(f.Append(nil, "visible")); got != "visible" {
		t.Errorf("got %q", got)
	}
}

func TestLine(t *testing.T) {
	if got, want := Line("a\nb\tc\r\nd\x1b[2J"), "a b c d"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestJSON(t *testing.T) {
	in := `{"text":"a` + "\u009b31m\x7fé中 \u0085" + `b"}`
	out := JSON(nil, []byte(in))
	if Clean(string(out)) != string(out) {
		t.Errorf("a control character is left in %q", out)
	}
	var got, want any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(in), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

// Whatever comes in and however it is cut, only printable characters, line
// feeds and tabs come out, and the cut does not show.
func FuzzFilter(f *testing.F) {
	for i, tc := range rows {
		f.Add(tc.in, uint(i))
	}
	f.Fuzz(func(t *testing.T, in string, at uint) {
		whole := Clean(in)
		for _, r := range whole {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f {
				t.Fatalf("%q lets %U through", in, r)
			}
		}
		if !utf8.ValidString(whole) {
			t.Fatalf("%q gives bytes that are not UTF-8", in)
		}
		if again := Clean(whole); again != whole {
			t.Fatalf("cleaning %q twice gives %q, then %q", in, whole, again)
		}
		cut := int(at % uint(len(in)+1))
		if got := inPieces(in[:cut], in[cut:]); got != whole {
			t.Fatalf("%q cut at %d: got %q, want %q", in, cut, got, whole)
		}
	})
}
