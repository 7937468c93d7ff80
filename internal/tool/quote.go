package tool

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxReasonRunes is the longest reason of an action, in code points.
const MaxReasonRunes = 300

// quoted writes text of a model into a sentence for people, in quotes and on
// one line: what can't be seen, quotes and backslashes are escaped, so that it
// can't end its quotes and go on as a sentence of ours. Text of more than
// maxRunes code points as escaped loses its middle, and its length is said.
func quoted(s string, maxRunes int) string {
	// A little more than can be shown is enough to know that it is too long.
	// An escape has at most 10 code points, so this bounds the work too.
	head, all := escaped(s, maxRunes)
	if all {
		return `"` + head + `"`
	}
	half := maxRunes / 2
	head, _ = escaped(s, half)
	return `"` + head + "…" + escapedTail(s, half) + `" (` + countOf(int64(utf8.RuneCountInString(s)), "character") + ")"
}

// escaped returns the beginning of s in at most maxRunes, and whether it is all
// of it.
func escaped(s string, maxRunes int) (string, bool) {
	var b strings.Builder
	n := 0
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		e := escape(s[i : i+size])
		if n += utf8.RuneCountInString(e); n > maxRunes {
			return b.String(), false
		}
		b.WriteString(e)
		i += size
	}
	return b.String(), true
}

func escapedTail(s string, maxRunes int) string {
	var tail string
	n := 0
	for len(s) > 0 {
		_, size := utf8.DecodeLastRuneInString(s)
		e := escape(s[len(s)-size:])
		if n += utf8.RuneCountInString(e); n > maxRunes {
			break
		}
		tail, s = e+tail, s[:len(s)-size]
	}
	return tail
}

// escape writes one character, or one byte that is none, so that it is seen.
func escape(char string) string {
	q := strconv.Quote(char)
	return q[1 : len(q)-1]
}

// visible returns a name as it is, or in quotes where it has something that
// can't be seen, or quotes of its own.
func visible(name string) string {
	if name == "" || name[0] == '"' || !allPrint(name) {
		return strconv.Quote(name)
	}
	return name
}

// allPrint reports whether a text has only what can be seen, and spaces.
func allPrint(s string) bool {
	for i, r := range s {
		if !strconv.IsPrint(r) || r == utf8.RuneError && s[i] != '\xef' {
			return false
		}
	}
	return true
}

// countOf writes a number with its noun: "1 line", "1,204 bytes".
func countOf(n int64, noun string) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	stem, isY := strings.CutSuffix(noun, "y")
	switch {
	case n == 1:
		return s + " " + noun
	case isY:
		return s + " " + stem + "ies"
	}
	return s + " " + noun + "s"
}
