package script

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"nothing", "", "a script needs at least one step"},
		{"only comments", ": a\n:\n\n", "a script needs at least one step"},
		{"words outside", "hello", "line 1: words outside of a :text or :reasoning block"},
		{"unknown", "\n:txt", "line 2: no such directive: :txt"},
		{"when without words", ":when equals", "line 1: want equals, starts or contains, and the words"},
		{"when otherwise", ":when like x", "line 1: want equals, starts or contains, and the words"},
		{"after else", ":else\n:text \"a\"\n:when equals b", "line 3: the section before takes every message, so this one would never play"},
		{"after a section without a match", ":text \"a\"\n:when equals b", "line 2: the section before takes every message, so this one would never play"},
		{"pace", ":pace fast", `line 1: not a duration such as 40ms: "fast"`},
		{"pace below zero", ":pace -1s", `line 1: not a duration such as 40ms: "-1s"`},
		{"pace in nothing", ":pace 1s 0", `line 1: not a number of characters: "0"`},
		{"quotes", ":text \"a", `line 1: not a quoted string: "a`},
		{"repeat", ":repeat many \"a\"", `line 1: not a count from 1 to 10000000, nor the word prompt: "many"`},
		{"repeat too often", ":repeat 10000001 \"a\"", `line 1: not a count from 1 to 10000000, nor the word prompt: "10000001"`},
		{"tool without a name", ":tool id=x", "line 1: want :tool, the tool's name and its arguments"},
		{"tool with another option", ":tool x=y ls {}", "line 1: no such option of :tool: x"},
		{"tool index", ":tool index=-1 ls {}", `line 1: not an index: "-1"`},
		{"usage", ":usage words=1", `line 1: want none, or input, output, reasoning and cached, each as name=number: "words=1"`},
		{"finish", ":finish", "line 1: want :finish and one reason, such as stop, length or none"},
		{"error", ":error 200", `line 1: not an HTTP status of an error: "200"`},
		{"error with another option", ":error 500 x=y", "line 1: no such option of :error: x"},
		{"drop", ":drop now", `line 1: nothing follows this directive: "now"`},
		{"raw", ":raw a", "line 1: not a quoted string: a"},
		{"if", ":if so", "line 1: want :if, then tools or result, with not before it for the opposite"},
		{"if of no result", ":if result 0 contains x", `line 1: not the number of a result: "0"`},
		{"if of a result without words", ":if result 1 equals", "line 1: want equals, starts or contains, and the words"},
		{"if inside another", ":if tools\n:if not tools", "line 2: an :if inside another; end that one first"},
		{"otherwise of nothing", ":otherwise", "line 1: no :if is open"},
		{"end of nothing", ":if tools\n:text \"a\"\n:round\n:end", "line 4: no :if is open"},
		{"end and more", ":if tools\n:end tools", `line 2: nothing follows this directive: "tools"`},
		{"result", ":result first", `line 1: not the number of a result: "first"`},
		{"not UTF-8", "\xff", "a script is UTF-8; bytes that are not go into :raw"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.text)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	tests := []struct {
		text string
		size int
		want []string
	}{
		{"one two\n\n  three ", 0, []string{"one ", "two\n\n  ", "three "}},
		{"  a", 0, []string{"  ", "a"}},
		{"é你🌍x", 2, []string{"é你", "🌍x"}},
		{"abc", 2, []string{"ab", "c"}},
		{"", 0, nil},
	}
	for _, test := range tests {
		if diff := cmp.Diff(pieces(test.text, test.size), test.want); diff != "" {
			t.Errorf("%q by %d (-got +want):\n%s", test.text, test.size, diff)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte(":nope"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), path+": line 1:") {
		t.Errorf("got %v, want the file and the line", err)
	}
	if _, err := Load(path + ".none"); !os.IsNotExist(err) {
		t.Errorf("got %v, want that it does not exist", err)
	}
}

// FuzzParse: a script is refused or can be asked, and the text of its blocks is
// what was written.
func FuzzParse(f *testing.F) {
	f.Add(builtin)
	f.Add(":text\na\n::b\n\n")
	f.Add(":if not result 2 contains a\n:result 2\n:otherwise\n:if tools\n:end\n:text \"a\"")
	f.Add(":when equals a\n:tool id=x index=2 ls {\"a b\":1}\n:round\n:again\n:text \"x\"\n:else\n:error 429 retry_after=1 slow")
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := Parse(text); err == nil {
			s.section(text)
		}
		if strings.ContainsAny(text, "\r\n") || text == "" || strings.HasPrefix(text, ":") {
			return
		}
		s, err := Parse(":text\n" + text + "\n")
		if err != nil {
			return
		}
		var got strings.Builder
		for _, step := range s.sections[0].rounds[0].tries[0] {
			got.WriteString(step.text)
		}
		if got.String() != text {
			t.Errorf("got %q, want %q", got.String(), text)
		}
	})
}
