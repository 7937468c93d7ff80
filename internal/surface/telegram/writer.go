package telegram

import (
	"strings"
)

// maxEntities is how many entities Telegram keeps of a message. It drops the
// formatting of further ones, and with it the address of a link.
const maxEntities = 100

// maxDepth is how many blocks inside each other indent their lines; further ones
// are written, but no deeper. It bounds what the indentation adds to a text.
const maxDepth = 20

// tag is an element of Telegram's HTML.
type tag struct{ open, close string }

var (
	tagBold   = tag{"<b>", "</b>"}
	tagItalic = tag{"<i>", "</i>"}
	tagStrike = tag{"<s>", "</s>"}
	tagCode   = tag{"<code>", "</code>"}
	tagQuote  = tag{"<blockquote>", "</blockquote>"}
)

func tagLink(href string) tag {
	return tag{`<a href="` + escapeAttribute.Replace(href) + `">`, "</a>"}
}

func tagPre(language string) tag {
	if language == "" {
		return tag{"<pre>", "</pre>"}
	}
	return tag{`<pre><code class="language-` + escapeAttribute.Replace(language) + `">`, "</code></pre>"}
}

var (
	escapeText      = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	escapeAttribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")
)

// writer makes Telegram's HTML. A tag is written only when text in it comes, so
// none is empty, and what is open is closed by finish, so none is left open.
type writer struct {
	out strings.Builder
	// units is the length of what a reader sees, in UTF-16 units.
	units int
	// bare leaves out tags and escapes: the text alone.
	bare bool
	// want are the tags that the next text is to be in, outermost first; open
	// those that were written.
	want, open []tag
	opened     int
	// indent is what a line begins with, marker what the next one does instead,
	// once.
	indent, marker string
	depth          int
	// breaks are the line breaks due before the next text.
	breaks  int
	started bool
	// seen says that something that is not blank was written.
	seen bool
}

// due asks for at least n line breaks before the next text, if any text came.
func (w *writer) due(n int) { w.breaks = max(w.breaks, n) }

// text writes s. A line break in it is taken as it is, without indentation.
func (w *writer) text(s string) {
	if s == "" {
		return
	}
	w.begin()
	w.put(s)
}

// begin makes ready for text: line breaks, indentation and tags.
func (w *writer) begin() {
	kept := 0
	for kept < min(len(w.open), len(w.want)) && w.open[kept] == w.want[kept] {
		kept++
	}
	w.closeTo(kept)
	if w.started && w.breaks == 0 {
		w.openTo(len(w.want))
		return
	}
	if w.started {
		w.put(strings.Repeat("\n", w.breaks))
	}
	w.started, w.breaks = true, 0
	// A quotation holds the indentation of its lines, other tags do not.
	if len(w.want) > 0 && w.want[0] == tagQuote {
		w.openTo(1)
	}
	head := w.indent
	if w.marker != "" {
		head, w.marker = w.marker, ""
	}
	w.put(head)
	w.openTo(len(w.want))
}

func (w *writer) openTo(n int) {
	for len(w.open) < n {
		next := w.want[len(w.open)]
		w.open = append(w.open, next)
		w.opened++
		if !w.bare {
			w.out.WriteString(next.open)
		}
	}
}

func (w *writer) closeTo(n int) {
	for len(w.open) > n {
		last := len(w.open) - 1
		if !w.bare {
			w.out.WriteString(w.open[last].close)
		}
		w.open = w.open[:last]
	}
}

// put writes s as it is to be seen.
func (w *writer) put(s string) {
	w.units += utf16Len(s)
	w.seen = w.seen || !isBlank(s)
	if !w.bare {
		s = escapeText.Replace(s)
	}
	w.out.WriteString(s)
}

// within runs f with t around what it writes. A tag that is around already is
// not nested.
func (w *writer) within(t tag, f func()) {
	for _, around := range w.want {
		if around == t {
			f()
			return
		}
	}
	outside := w.want
	w.want = append(outside[:len(outside):len(outside)], t)
	f()
	w.want = outside
}

// alone runs f with t around what it writes, and nothing else but a quotation:
// Telegram allows code in no other tag.
func (w *writer) alone(t tag, f func()) {
	outside := w.want
	w.want = []tag{t}
	if len(outside) > 0 && outside[0] == tagQuote {
		w.want = []tag{tagQuote, t}
	}
	f()
	w.want = outside
}

// outermost runs f with t around everything else that is around what it writes.
func (w *writer) outermost(t tag, f func()) {
	outside := w.want
	w.want = append([]tag{t}, outside...)
	f()
	w.want = outside
}

// indented runs f with first before the first line that it writes, and rest
// before the others, both inside the indentation that there is.
func (w *writer) indented(first, rest string, f func()) {
	indent, marker := w.indent, w.marker
	head := marker + first
	if marker == "" {
		head = indent + first
	}
	w.marker = head
	if w.depth < maxDepth {
		w.indent = indent + rest
	}
	w.depth++
	f()
	w.depth--
	w.indent = indent
	if w.marker == head {
		w.marker = marker // nothing was written
	}
}

func (w *writer) quoted() bool { return len(w.want) > 0 && w.want[0] == tagQuote }

// linked reports whether the next text is inside a link.
func (w *writer) linked() bool {
	for _, t := range w.want {
		if t.close == "</a>" {
			return true
		}
	}
	return false
}

// finish closes what is open and returns the text and its length.
func (w *writer) finish() (string, int) {
	w.closeTo(0)
	return w.out.String(), w.units
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}
