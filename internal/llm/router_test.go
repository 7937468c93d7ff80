package llm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// sorted is what a reader has of a content.
type sorted struct{ Text, Reasoning string }

// route sends the pieces through a router.
func route(pieces ...string) sorted {
	var r Router
	var s sorted
	for _, piece := range pieces {
		s.add(r.Append(nil, piece))
	}
	s.add(r.Flush(nil))
	return s
}

func (s *sorted) add(pieces []Piece) {
	for _, p := range pieces {
		if p.Reasoning {
			s.Reasoning += p.Text
			continue
		}
		s.Text += p.Text
	}
}

const fence = "```"

var routerTests = []struct {
	name, content string
	want          sorted
}{
	{"F1 think", "preface <think>secret</think>answer", sorted{"preface answer", "secret"}},
	{"F1 reasoning", "preface <reasoning>secret</reasoning>answer", sorted{"preface answer", "secret"}},
	{"F1 thinking", "preface <thinking>secret</thinking>answer", sorted{"preface answer", "secret"}},
	{"F1 any case", "<THINK>a</Think>b<tHinKing>c</REASONING>d", sorted{"bd", "ac"}},
	{"F2 less than", "if a < b", sorted{Text: "if a < b"}},
	{"F2 a beginning of a tag at the end", "x <th", sorted{Text: "x <th"}},
	{"F2 a beginning of a closer at the end", "<think>x </thi", sorted{Reasoning: "x </thi"}},
	{"F2 a tag in a beginning of one", "<th<think>a</th</think>b", sorted{"<thb", "a</th"}},
	{"F2 not quite a tag", "<think > <thinkx> <thinker> < think>", sorted{Text: "<think > <thinkx> <thinker> < think>"}},
	{"F3 never closed", "<think>Hello! How are you?", sorted{Reasoning: "Hello! How are you?"}},
	{"F3 never closed after text", "Sure.\n<think>\nLet me see", sorted{"Sure.\n", "\nLet me see"}},
	{"F4 code span", "Use the `<think>` tag when needed.", sorted{Text: "Use the `<think>` tag when needed."}},
	{"F4 code span of two", "a `` `<think>` `` b", sorted{Text: "a `` `<think>` `` b"}},
	{"F4 fence", "a\n" + fence + "html\n<think>x</think>\n" + fence + "\nb<think>c</think>", sorted{"a\n" + fence + "html\n<think>x</think>\n" + fence + "\nb", "c"}},
	{"F4 tilde fence", "~~~\n<think>\n" + fence + "\n~~~\n<think>a", sorted{"~~~\n<think>\n" + fence + "\n~~~\n", "a"}},
	{"F4 fence in a list", "- " + fence + "\n\n  <think>\n\n  " + fence + "\n<think>a", sorted{"- " + fence + "\n\n  <think>\n\n  " + fence + "\n", "a"}},
	{"F4 longer fence", "````\n" + fence + "\n<think>\n````\n<think>a", sorted{"````\n" + fence + "\n<think>\n````\n", "a"}},
	{"F4 a closing fence has nothing after it", fence + "\nx\n" + fence + " no\n<think>", sorted{Text: fence + "\nx\n" + fence + " no\n<think>"}},
	{"F4 a fence that is a span", fence + " a " + fence + " <think>b", sorted{fence + " a " + fence + " ", "b"}},
	{"F4 a span ends with its paragraph", "it`s\n\n<think>a</think>b", sorted{"it`s\n\nb", "a"}},
	{"F4 an escaped backtick opens nothing", "\\`<think>a</think>", sorted{"\\`", "a"}},
	{"F5 a fence within reasoning", "<think>try:\n" + fence + "\nx=1\n" + fence + "\n\nthen stop</think>Done.", sorted{"Done.", "try:\n" + fence + "\nx=1\n" + fence + "\n\nthen stop"}},
	{"F5 an open fence within reasoning", "<think>" + fence + "\nx</think>Done. `<think>`", sorted{"Done. `<think>`", fence + "\nx"}},
	{"F6 empty reasoning", "<think></think>Hi", sorted{Text: "Hi"}},
	{"F6 blank reasoning", "<think>\n\n</think>\n\nHi", sorted{"\n\nHi", "\n\n"}},
	{"opener within reasoning", "<think>a<think>b</think>c</think>d", sorted{"c</think>d", "a<think>b"}},
	{"closer without opener", "a</think>b", sorted{Text: "a</think>b"}},
	{"other tags", "<b>x</b><tt>y</tt><r></reason>", sorted{Text: "<b>x</b><tt>y</tt><r></reason>"}},
	{"nothing", "", sorted{}},
}

func TestRouter(t *testing.T) {
	for _, test := range routerTests {
		t.Run(test.name, func(t *testing.T) {
			c := test.content
			for i := range len(c) + 1 {
				for j := i; j <= len(c); j++ {
					if got := route(c[:i], c[i:j], c[j:]); got != test.want {
						t.Fatalf("cut at %d and %d: got %+v, want %+v", i, j, got, test.want)
					}
				}
			}
			if got := route(strings.Split(c, "")...); got != test.want {
				t.Errorf("byte by byte: got %+v, want %+v", got, test.want)
			}
			if got := reference(c); got != test.want {
				t.Errorf("the reference has %+v, want %+v", got, test.want)
			}
		})
	}
}

// F2: only what may still become a tag waits.
func TestF2HoldsBackOnlyBeginningsOfTags(t *testing.T) {
	tests := []struct {
		content string
		held    string
	}{
		{"if a < b", ""}, {"if a <", "<"}, {"x <th", "<th"}, {"x <tho", ""}, {"x <thinkin", "<thinkin"},
		{"x <REASONIN", "<REASONIN"}, {"x </think", ""}, {"<think>x </thinkin", "</thinkin"},
		{"<think>x <thin", ""}, {"`<thin", ""}, {fence + "\n<thin", ""}, {"a\n", ""}, {"a ", ""}, {"`", ""}, {fence, ""},
	}
	for _, test := range tests {
		t.Run(test.content, func(t *testing.T) {
			var r Router
			r.Append(nil, test.content)
			if r.held != test.held {
				t.Errorf("held back %q, want %q", r.held, test.held)
			}
		})
	}
}

func TestF6EmptyPiecesDontCut(t *testing.T) {
	var r Router
	pieces := r.Append(nil, "<think>a")
	pieces = r.Append(pieces, "")
	pieces = r.Append(pieces, "b</think>")
	pieces = r.Append(pieces, "Hi")
	pieces = r.Flush(pieces)
	want := []Piece{{"a", true}, {"b", true}, {"Hi", false}}
	if diff := cmp.Diff(pieces, want); diff != "" {
		t.Errorf("pieces (-got +want):\n%s", diff)
	}
}

func TestRouterFlushIsANewRound(t *testing.T) {
	var r Router
	r.Append(nil, "<think>open `code")
	r.Flush(nil)
	if diff := cmp.Diff(r.Append(nil, "text"), []Piece{{Text: "text"}}); diff != "" {
		t.Errorf("the next round (-got +want):\n%s", diff)
	}
}

// FuzzRouter compares the router, on any cut, with a reference that has the
// whole content before it.
func FuzzRouter(f *testing.F) {
	for i, test := range routerTests {
		f.Add(test.content, uint64(i))
	}
	f.Fuzz(func(t *testing.T, content string, seed uint64) {
		if len(content) > 400 {
			return // the reference is slow
		}
		random := rand.New(rand.NewPCG(seed, 1))
		var pieces []string
		for rest := content; rest != ""; {
			n := 1 + random.IntN(min(len(rest), 12))
			pieces = append(pieces, rest[:n])
			rest = rest[n:]
		}
		got, whole, want := route(pieces...), route(content), reference(content)
		if got != whole {
			t.Errorf("seed %d: cut %q\ngot  %+v\nwhole %+v", seed, pieces, got, whole)
		}
		if whole != want {
			t.Errorf("%q\ngot  %+v\nreference %+v", content, whole, want)
		}
		if utf8.ValidString(content) && !utf8.ValidString(got.Text+"|"+got.Reasoning) {
			t.Errorf("valid UTF-8 became invalid: %+v", got)
		}
	})
}

func BenchmarkRouter(b *testing.B) {
	for _, size := range []int{4, 64, 4096} {
		b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
			text := strings.Repeat("word `x` < a\n", 400)[:size]
			var r Router
			var pieces []Piece
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				pieces = r.Append(pieces[:0], text)
			}
		})
	}
}
