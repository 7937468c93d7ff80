package search_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/search"
)

func TestMatch(t *testing.T) {
	cases := []struct {
		name, query, text string
		want              string // the places, with a bar between; "-" for no match
	}{
		{"no word in the query", "…", "anything", "-"},
		{"a word", "disk", "The disk is full", "disk"},
		{"by its beginning", "dis", "The disks", "disks"},
		{"not by its middle", "isk", "The disk", "-"},
		{"all words", "full disk", "The disk is full", "disk|full"},
		{"not one of two", "full disk", "The disk", "-"},
		{"the same word twice", "disk disk", "a disk", "disk"},
		{"a word and its beginning", "d disk", "disk", "disk"},
		{"accents in the query", "café", "a cafe", "cafe"},
		{"accents in the text", "cafe", "a Café!", "Café"},
		{"case and sharp s", "STRASSE", "die Straße", "Straße"},
		{"long words are told apart", "internationalization", "internationalisms", "-"},
		{"longer than the key", "internationalis", "internationalisms", "internationalisms"},
		{"operators are text", `"disk" OR -near* NEAR(a:b) ^x`, "disk or nearly near a b x", "disk|or|nearly|near|a|b|x"},
		{"AND is a word", "AND", "this and that", "and"},
		{"AND is asked for", "this AND that", "this that", "-"},
		{"Chinese, one character", "据", "数据库", "据"},
		{"Chinese, two characters", "据库", "数据库", "据库"},
		{"Chinese, more", "数据库", "我的数据库。", "数据库"},
		{"not over a gap", "数据库", "数据 库", "-"},
		{"neighbours elsewhere", "数据库", "数据 据库", "-"},
		{"twice, overlapping", "人人", "人人人", "人人人"},
		{"Chinese and Latin", "sql数据", "数据 in SQLite", "数据|SQLite"},
		{"Japanese, half width", "ｶﾞﾝ", "ガン", "ガン"},
		{"sound marks count", "か", "が", "-"},
		{"Korean within a word", "색", "검색은", "색"},
		{"Cyrillic", "елк", "Ёлка", "Ёлка"},
		{"only the first 256 characters", strings.Repeat("a ", 128) + "absent", "a", "a"},
		{"only 16 words", "a b c d e f g h i j k l m n o p absent", "a b c d e f g h i j k l m n o p", "a|b|c|d|e|f|g|h|i|j|k|l|m|n|o|p"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := search.Parse(c.query)
			m, ok := q.Match(c.text)
			got := "-"
			if ok {
				var places []string
				for _, r := range m.Ranges() {
					places = append(places, c.text[r.Start:r.End])
				}
				got = strings.Join(places, "|")
			}
			if got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
			if ok {
				hasKeys(t, q, c.text)
			}
		})
	}
}

// hasKeys checks that an index of keys would name the text.
func hasKeys(t *testing.T, q search.Query, text string) {
	t.Helper()
	at := search.Place{Conversation: 3}
	keys := strings.Split(search.Keys(text, at), " ")
	for _, key := range strings.Split(q.Keys(at), " ") {
		if !contains(keys, key) {
			t.Errorf("%q matches but lacks a key of the query", text)
		}
	}
}

func contains(all []string, one string) bool {
	for _, s := range all {
		if s == one {
			return true
		}
	}
	return false
}

func TestBetterMatchesScoreHigher(t *testing.T) {
	filler := strings.Repeat("something else ", 40)
	cases := []struct{ name, query, better, worse string }{
		{"more often", "disk", "disk disk and more of it", "disk and more of it all"},
		{"a whole word", "disk", "the disk", "the disks"},
		{"a shorter text", "disk", "the disk", "the disk " + filler},
		{"close together", "disk full", "disk full " + filler, "disk " + filler + " full"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			q := search.Parse(c.query)
			better, ok1 := q.Match(c.better)
			worse, ok2 := q.Match(c.worse)
			if !ok1 || !ok2 || better.Score() <= worse.Score() {
				t.Errorf("%q scores %f (%t), %q %f (%t)", c.better, better.Score(), ok1, c.worse, worse.Score(), ok2)
			}
		})
	}
}

func TestSnippet(t *testing.T) {
	before, after := strings.Repeat("before ", 60), strings.Repeat("after ", 60)
	long := strings.Repeat("x", 300)
	family := "👩‍👩‍👧"
	cases := []struct {
		name, query, text string
		want              string // with the words in brackets
	}{
		{"a short text", "disk", "The disk is full.\n", "The [disk] is full."},
		{"the middle of a long one", "needle", before + "needle " + after,
			strings.TrimSpace(strings.Repeat("before ", 7)) + " [needle] " + strings.TrimSpace(strings.Repeat("after ", 17))},
		{"the end", "needle", before + "needle", strings.TrimSpace(strings.Repeat("before ", 22)) + " [needle]"},
		{"both words rather than one often", "one two", "one one one " + before + "one two " + after,
			strings.TrimSpace(strings.Repeat("before ", 7)) + " [one] [two] " + strings.TrimSpace(strings.Repeat("after ", 17))},
		{"a word longer than a snippet", "x", long, "[" + strings.Repeat("x", 160) + "]"},
		{"no cut in a family", "needle", "needle" + strings.Repeat(family, 80), "[needle]" + strings.Repeat(family, 30)},
		{"Chinese", "据库", strings.Repeat("数", 200) + "据库" + strings.Repeat("人", 200),
			strings.Repeat("数", 52) + "[据库]" + strings.Repeat("人", 106)},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, ok := search.Parse(c.query).Match(c.text)
			if !ok {
				t.Fatal("no match")
			}
			s := m.Snippet(c.text)
			if c.text[s.At:s.At+len(s.Text)] != s.Text {
				t.Errorf("the snippet is not what stands at %d", s.At)
			}
			if d := cmp.Diff(c.want, marked(s)); d != "" {
				t.Errorf("snippet (-want +got):\n%s", d)
			}
		})
	}
}

func marked(s search.Snippet) string {
	var b strings.Builder
	at := 0
	for _, r := range s.Ranges {
		b.WriteString(s.Text[at:r.Start] + "[" + s.Text[r.Start:r.End] + "]")
		at = r.End
	}
	return b.String() + s.Text[at:]
}
