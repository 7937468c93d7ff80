package attachment

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxNameBytes is the longest name of a file, in bytes of UTF-8.
const MaxNameBytes = 255

// maxExtensionBytes is the longest end of a name that is kept when the middle is
// cut.
const maxExtensionBytes = 16

// unnamed is how a file without a name is called.
const unnamed = "file"

// CleanName makes a name fit to be shown on one line: what stands before the last
// slash or backslash goes, and so do line breaks, control characters and those
// that turn the direction of writing; at most MaxNameBytes stay, the extension
// among them. A name of which nothing is left becomes "file". It is valid UTF-8,
// and cleaning it again changes nothing.
func CleanName(name string) string {
	name = strings.ToValidUTF8(name, string(utf8.RuneError))
	if i := strings.LastIndexAny(name, `/\`); i >= 0 {
		name = name[i+1:]
	}
	name = strings.Map(showable, name)
	name = strings.TrimSpace(shorten(strings.TrimSpace(name)))
	if strings.Trim(name, ".") == "" {
		return unnamed
	}
	return name
}

// showable drops what a name must not have. What joins the parts of an emoji or
// of an Indic letter stays.
func showable(r rune) rune {
	const nonJoiner, joiner = '\u200c', '\u200d'
	switch {
	case r == nonJoiner || r == joiner || unicode.IsGraphic(r):
		return r
	case unicode.Is(unicode.Co, r):
		return utf8.RuneError
	}
	return -1
}

func shorten(name string) string {
	if len(name) <= MaxNameBytes {
		return name
	}
	extension := path.Ext(name)
	if len(extension) > maxExtensionBytes {
		extension = ""
	}
	return cut(name, MaxNameBytes-len(extension)) + extension
}

// cut returns at most n bytes of s, whole characters only.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
