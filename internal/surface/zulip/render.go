package zulip

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/surface"
)

// breaker is a zero-width space: it shows nothing, Zulip trims it nowhere, and
// behind it an @ or a / means nothing.
const breaker = "\u200b"

// Render leaves Markdown as it is, since Zulip's is Markdown too, with these
// exceptions that no reader sees. Blank lines at the start and white space at the
// end go, as the server would drop them. After an @ that could mention a person, a
// group or everybody, and before a command at the very start (/me, /poll, /todo),
// stands a zero-width space: what a model writes wakes nobody and makes no poll.
// Code in fences is not touched. A NUL, which Zulip refuses, becomes U+FFFD.
//
// Plain text is put between fences longer than any in it, because Zulip has no
// way to escape markup. The size is in code points.
func (b *bot) Render(markdown string, plain bool) (text string, size int) {
	text = trim(strings.ReplaceAll(markdown, "\x00", "\uFFFD"))
	switch {
	case text == "":
	case plain:
		text = fenced(text)
	default:
		text = tame(text)
	}
	return text, utf8.RuneCountInString(text)
}

// Same compares but for what Zulip drops at the ends, and for the links to the
// files that a post came with.
func (b *bot) Same(seen surface.Seen, text string) bool {
	text = trim(text)
	return trim(seen.Text) == text || trim(withoutLinks(seen.Text)) == text
}

// trim drops what the server drops from a message: white space at the end and
// line feeds at the start.
func trim(text string) string {
	return strings.TrimLeft(strings.TrimRightFunc(text, isSpace), "\n")
}

// isSpace is what the server's language takes for white space.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}

// fenced shows text as it is.
func fenced(text string) string {
	longest, run := 2, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "text\n" + text + "\n" + fence
}

var (
	// mention is what begins a mention, silent ones too.
	mention = regexp.MustCompile(`@(_?\*)`)
	// command is what Zulip acts on at the start of a message.
	command = regexp.MustCompile(`^/(me|poll|todo)(\s|$)`)
	// fence opens a block; the groups are the fence and the language. A line
	// with more in it is no fence to Zulip.
	fence = regexp.MustCompile("^(~{3,}|`{3,}) *(?:\\{?\\.?([a-zA-Z0-9_+,\\-./#]+) *(?:[^ ~`][^~`]*)?\\}?)?$")
	// blind is what Zulip makes of a line before it looks for fences.
	blind = strings.NewReplacer("\n", "", "\t", " ", "\x02", "", "\x03", "")
)

// tame takes the power out of mentions and commands.
func tame(text string) string {
	var out strings.Builder
	if command.MatchString(text) {
		out.WriteString(breaker)
	}
	// A bare carriage return is a line break to Zulip; then no line is code.
	code := codeLines{doubts: strings.ContainsRune(text, '\r')}
	for line := range strings.SplitAfterSeq(text, "\n") {
		if !code.next(line) {
			line = mention.ReplaceAllString(line, "@"+breaker+"$1")
		}
		out.WriteString(line)
	}
	return out.String()
}

// codeLines tells which lines of a message are code. In doubt a line is none.
type codeLines struct {
	fence  string
	doubts bool
}

// next reports whether line is inside a block of code, or one of its fences.
func (c *codeLines) next(line string) bool {
	line = blind.Replace(line)
	if c.fence != "" {
		if strings.TrimRightFunc(line, isSpace) == c.fence {
			c.fence = ""
		}
		return true
	}
	m := fence.FindStringSubmatch(line)
	if m == nil || c.doubts {
		return false
	}
	switch strings.ToLower(m[2]) {
	case "quote", "quoted", "spoiler", "math":
		// Their lines are read as Markdown, and fences inside pair up anew.
		c.doubts = true
		return false
	}
	c.fence = m[1]
	return true
}

// link is a line that shows a file of ours: see fileLink.
var link = regexp.MustCompile(`^\[[^\[\]]*\]\(/user_uploads/[^()\s]+\)$`)

// withoutLinks drops the lines of links at the end.
func withoutLinks(text string) string {
	for {
		text = strings.TrimRightFunc(text, isSpace)
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if !link.MatchString(last) {
			return text
		}
		text = text[:len(text)-len(last)]
	}
}
