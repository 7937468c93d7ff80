package search_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"verbatim/internal/search"
)

var seeds = []struct{ text, query string }{
	{"The disk is full", "dis ful"},
	{"Café naïve Straße ﬁle İstanbul", "cafe STRASSE fi ist"},
	{"数据库是什么？SQLite 3", "数据 sql 库"},
	{"がんばれ ｶﾞﾝﾊﾞﾚ か\u3099", "ｶﾞ ん"},
	{"검색 \u1100\u1165\u11b7 기능", "검 능"},
	{"ภาษาไทย हिन्दी שָׁלוֹם", "ภา हिन् שלום"},
	{"👩‍👩‍👧🇩🇪🇫🇷 \r\n a\u0301\u0301\u0301", "a 🇩🇪"},
	{"\xff\xfea\xc3", "\xc3a"},
	{`"a" AND (b OR c*) -d ^e f:g NEAR(h)`, `AND OR NEAR("`},
}

// FuzzSearch: whatever text and query are, places are whole parts of the text,
// a text is found by what stands in it, and the index would name it.
func FuzzSearch(f *testing.F) {
	for _, s := range seeds {
		f.Add(s.text, s.query)
	}
	f.Fuzz(func(t *testing.T, text, query string) {
		if len(text) > 4096 || len(query) > 512 {
			t.Skip()
		}
		checkTerms(t, text)
		checkQuery(t, text, search.Parse(query))
		// Folding what is folded changes nothing, and any two words in a row
		// find their text.
		for term := range search.Terms(text) {
			if again := written(term.Text); strings.NewReplacer(" ", "", "+", "").Replace(again) != term.Text {
				t.Errorf("%q is folded again to %q", term.Text, again)
			}
			if utf8.RuneCountInString(term.Text) > search.MaxQueryRunes {
				continue
			}
			q := search.Parse(text[term.Start:term.End])
			if _, ok := q.Match(text); !ok {
				t.Errorf("%q does not find its text", text[term.Start:term.End])
			}
			checkQuery(t, text, q)
		}
	})
}

func checkTerms(t *testing.T, text string) {
	t.Helper()
	end := 0
	for term := range search.Terms(text) {
		if term.Text == "" || term.Start < end || term.End <= term.Start || term.End > len(text) {
			t.Fatalf("term %+v after %d", term, end)
		}
		whole(t, text, term.Start)
		whole(t, text, term.End)
		end = term.End
	}
}

// whole checks that an offset is between two characters, where the text is valid.
func whole(t *testing.T, text string, at int) {
	t.Helper()
	if utf8.ValidString(text) && at < len(text) && !utf8.RuneStart(text[at]) {
		t.Fatalf("offset %d is within a character", at)
	}
}

func checkQuery(t *testing.T, text string, q search.Query) {
	t.Helper()
	m, ok := q.Match(text)
	if !ok {
		return
	}
	hasKeys(t, q, text)
	end := -1
	for _, r := range m.Ranges() {
		if r.Start <= end || r.End <= r.Start || r.End > len(text) {
			t.Fatalf("range %v after %d", r, end)
		}
		whole(t, text, r.Start)
		whole(t, text, r.End)
		end = r.End
	}
	s := m.Snippet(text)
	if text[s.At:s.At+len(s.Text)] != s.Text || utf8.RuneCountInString(s.Text) > search.SnippetRunes {
		t.Fatalf("snippet %q at %d", s.Text, s.At)
	}
	whole(t, text, s.At)
	whole(t, text, s.At+len(s.Text))
	for _, r := range s.Ranges {
		if r.Start < 0 || r.End <= r.Start || r.End > len(s.Text) {
			t.Fatalf("range %v in a snippet of %d bytes", r, len(s.Text))
		}
	}
	if score := m.Score(); !(score > 0) {
		t.Fatalf("score %f", score)
	}
}
