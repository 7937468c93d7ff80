package search

import (
	"strconv"
	"unicode/utf8"
)

// keyRunes is how many characters of a word can be told apart by keys. Words
// that begin with the same ones are told apart by their text.
const keyRunes = 10

// keyBytes is the length of a key.
const keyBytes = 5

// MaxKeys is how many keys a document has at most, besides that of its place:
// enough for a mebibyte of any language. What is behind them in a text of more
// different words, such as a long list of hashes, is not found.
const MaxKeys = 1 << 16

// Place is where a document is found: the index keeps apart what is said and
// what tools put out, and can be asked for one conversation.
type Place struct {
	// Conversation is any number that stands for it.
	Conversation int64
	Output       bool
}

// Keys returns what a document is found by, with a space between keys: one for
// each beginning of a word, up to 10 characters; one for each single character
// and each two neighbours among them; one for the place. Each is there once, in
// the order of the text. It is empty for a text without any term.
//
// A key is a fingerprint of 35 bits in 5 bytes that are no ASCII. So an index
// of keys holds no text, has each of them as one entry however many words begin
// so, and can be asked nothing but for keys. Two words may have the same
// fingerprint; only a look at the text decides.
//
// The same text gives the same keys as long as the index lives; a change here
// is a change of its layout.
func Keys(text string, at Place) string {
	k := keyList{space: at.space(), seen: map[uint64]bool{}}
	s := newScanner(text)
	var before []byte
	for len(k.seen) < MaxKeys && s.next() {
		if !s.single {
			k.beginnings(s.term)
			continue
		}
		k.add(k.space.with(s.term))
		if s.joined {
			k.add(k.space.with(before).with(s.term))
		}
		before = append(before[:0], s.term...)
	}
	if len(k.text) == 0 {
		return ""
	}
	k.add(at.key())
	return string(k.text)
}

// CountKeys returns how many keys there are in a list as Keys makes it.
func CountKeys(keys string) int { return (len(keys) + 1) / (keyBytes + 1) }

// CutKeys parts such a list into its first n keys and the rest.
func CutKeys(keys string, n int) (first, rest string) {
	end := n*(keyBytes+1) - 1
	if end >= len(keys) {
		return keys, ""
	}
	return keys[:end], keys[end+1:]
}

// keyList gathers keys, each once.
type keyList struct {
	space hash
	seen  map[uint64]bool
	text  []byte
}

func (k *keyList) add(h hash) {
	v := h.fingerprint()
	if k.seen[v] {
		return
	}
	k.seen[v] = true
	if len(k.text) > 0 {
		k.text = append(k.text, ' ')
	}
	k.text = appendKey(k.text, v)
}

// beginnings adds the keys of a word.
func (k *keyList) beginnings(word []byte) {
	h := k.space
	for n := 0; n < keyRunes && len(word) > 0; n++ {
		_, size := utf8.DecodeRune(word)
		h = h.with(word[:size])
		k.add(h)
		word = word[size:]
	}
}

// space is what the keys of a kind of documents begin with.
func (p Place) space() hash {
	if p.Output {
		return hash(offset).with([]byte("output "))
	}
	return hash(offset).with([]byte("said "))
}

// key is the key of the place itself.
func (p Place) key() hash {
	return p.space().with(strconv.AppendInt([]byte(" in "), p.Conversation, 10))
}

// hash is FNV-1a of what came so far.
type hash uint64

const (
	offset = 14695981039346656037
	prime  = 1099511628211
)

func (h hash) with(b []byte) hash {
	for _, c := range b {
		h = (h ^ hash(c)) * prime
	}
	return h
}

// fingerprint mixes the bits, whose upper ones tell most.
func (h hash) fingerprint() uint64 {
	h ^= h >> 32
	h *= 0x9E3779B97F4A7C15
	return uint64(h >> (64 - 7*keyBytes))
}

func appendKey(b []byte, v uint64) []byte {
	for range keyBytes {
		b = append(b, 0x80|byte(v&0x7F))
		v >>= 7
	}
	return b
}
