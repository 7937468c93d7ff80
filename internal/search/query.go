package search

import (
	"slices"
	"strings"
)

// Bounds of a query. What is beyond is not looked at.
const (
	// MaxQueryRunes is in characters.
	MaxQueryRunes = 256
	// MaxWords is how many words are looked for.
	MaxWords = 16
	// maxPairs is how many neighbours of a run of single characters are asked
	// of the index.
	maxPairs = 8
)

// Query is what a person looks for. The zero value matches nothing.
type Query struct {
	wants []want
}

// want is one thing that a text must have: a word that begins so, or, where
// the script has no spaces, these characters in a row.
type want struct {
	text string
	// row are the characters, nil for a word.
	row []string
}

// Parse reads a query: words, each of which a text must have a word beginning
// with, whatever case, accents and width; of scripts without spaces between
// words, each run of characters as it stands. Nothing else has a meaning: not
// quotes, AND, OR, NEAR, *, -, ^, :, nor parentheses. Only the first 256
// characters and 16 words count; what is there twice counts once.
func Parse(text string) Query {
	var q Query
	for t := range Terms(firstRunes(text, MaxQueryRunes)) {
		last := len(q.wants) - 1
		if t.Joined && last >= 0 {
			w := &q.wants[last]
			w.text, w.row = w.text+t.Text, append(w.row, t.Text)
			continue
		}
		if len(q.wants) == MaxWords {
			break
		}
		w := want{text: t.Text}
		if t.Single {
			w.row = []string{t.Text}
		}
		q.wants = append(q.wants, w)
	}
	slices.SortStableFunc(q.wants, func(a, b want) int { return strings.Compare(a.text, b.text) })
	q.wants = slices.CompactFunc(q.wants, func(a, b want) bool { return a.text == b.text })
	return q
}

func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// Empty reports whether the query has no word; it matches nothing.
func (q Query) Empty() bool { return len(q.wants) == 0 }

// Keys returns keys that every matching document of the same place has, with a
// space between them; with a conversation of 0, in whichever conversation.
func (q Query) Keys(at Place) string {
	k := keyList{space: at.space(), seen: map[uint64]bool{}}
	for _, w := range q.wants {
		if w.row == nil {
			k.add(k.space.with([]byte(firstRunes(w.text, keyRunes))))
			continue
		}
		k.pairs(w.row)
	}
	if at.Conversation != 0 {
		k.add(at.key())
	}
	return string(k.text)
}

// pairs adds the keys of a row of single characters.
func (k *keyList) pairs(row []string) {
	if len(row) == 1 {
		k.add(k.space.with([]byte(row[0])))
	}
	for i := 1; i < min(len(row), maxPairs+1); i++ {
		k.add(k.space.with([]byte(row[i-1] + row[i])))
	}
}
