package tool

import (
	"fmt"
	"regexp"
	"strings"
)

// edit replaces the one place of a text where old is.
type edit struct{ old, new string }

// The most places that are counted, and the most words of old that are looked
// for when it isn't there.
const (
	maxPlaces    = 100
	maxHintWords = 500
)

// apply returns the changed text. The error says what was found instead of one
// place.
func (e edit) apply(p, text string) (string, error) {
	e = e.inLineEndsOf(text)
	at := e.places(text)
	switch {
	case len(at) == 1:
		return text[:at[0]] + e.new + text[at[0]+len(e.old):], nil
	case len(at) == 0:
		return "", fmt.Errorf("old is not in %s; nothing was written%s", visible(p), e.hint(text))
	}
	return "", fmt.Errorf("old is in %s %s (%s); nothing was written; give more of the text around the place", visible(p), timesOf(len(at)), linesOf(text, at))
}

// inLineEndsOf gives an edit the line ends of a file that has only CRLF, or
// where it is found only with them: a model writes LF.
func (e edit) inLineEndsOf(text string) edit {
	crlf := strings.Count(text, "\r\n")
	if crlf == 0 {
		return e
	}
	with := edit{old: withCRLF(e.old), new: withCRLF(e.new)}
	if crlf == strings.Count(text, "\n") || !strings.Contains(text, e.old) && strings.Contains(text, with.old) {
		return with
	}
	return e
}

func withCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

// places returns where old begins, also where two places overlap: one of those
// is no clearer than two apart.
func (e edit) places(text string) []int {
	var at []int
	for from := 0; len(at) <= maxPlaces; {
		i := strings.Index(text[from:], e.old)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
	}
	return at
}

func timesOf(n int) string {
	if n > maxPlaces {
		return fmt.Sprintf("more than %d times", maxPlaces)
	}
	return countOf(int64(n), "time")
}

// linesOf names the lines of the first places.
func linesOf(text string, at []int) string {
	const most = 10
	var lines []string
	for _, i := range at[:min(len(at), most)] {
		lines = append(lines, fmt.Sprint(lineAt(text, i)))
	}
	said := "lines " + strings.Join(lines, ", ")
	if len(at) > most {
		said += ", …"
	}
	return said
}

func lineAt(text string, i int) int { return strings.Count(text[:i], "\n") + 1 }

// hint tells where there is text that differs from old only in white space, or
// else only in upper and lower case.
func (e edit) hint(text string) string {
	words := strings.Fields(e.old)
	if len(words) == 0 || len(words) > maxHintWords {
		return ""
	}
	for i, w := range words {
		words[i] = regexp.QuoteMeta(w)
	}
	pattern := strings.Join(words, `\s+`)
	if i := findIn(text, pattern); i >= 0 {
		return fmt.Sprintf("; line %d differs from it only in white space: copy the text exactly", lineAt(text, i))
	}
	if i := findIn(text, "(?i)"+pattern); i >= 0 {
		return fmt.Sprintf("; line %d differs from it only in upper and lower case or white space: copy the text exactly", lineAt(text, i))
	}
	return ""
}

func findIn(text, pattern string) int {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return -1 // too long for an expression; a hint is not worth more
	}
	at := re.FindStringIndex(text)
	if at == nil {
		return -1
	}
	return at[0]
}
