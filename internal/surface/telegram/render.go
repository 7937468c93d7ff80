package telegram

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// lineEnds are what Telegram would take out of a text, gluing the words around
// it; and NUL, which is no text.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\x00", "\uFFFD")

// Render turns Markdown into Telegram's HTML; the size is that of what a reader
// sees, after Telegram took the tags out. Every word of the Markdown is in it, in
// its place: an address that can't be a link stands beside its text, HTML is
// shown as it is written, and so is what would leave nothing to see at all.
func (b *bot) Render(markdown string, plain bool) (string, int) {
	markdown = lineEnds.Replace(strings.ToValidUTF8(markdown, "\uFFFD"))
	if plain {
		return markdown, utf16Len(markdown)
	}
	r := &renderer{source: []byte(markdown)}
	r.blocks(b.markdown.Parse(text.NewReader(r.source)))
	if r.w.seen {
		return r.w.finish()
	}
	return escapeText.Replace(markdown), utf16Len(markdown)
}

// renderer writes the tree of a Markdown source.
type renderer struct {
	source []byte
	w      writer
}

// blocks writes the children of a block, with as much room between them as they
// have in the source, but never more than an empty line.
func (r *renderer) blocks(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		if n != parent.FirstChild() {
			r.w.due(1)
			if r.apart(n) {
				r.w.due(2)
			}
		}
		r.block(n)
	}
}

// apart reports whether an empty line is before a block in the source. What the
// library says of that is wrong behind a block of code.
func (r *renderer) apart(n ast.Node) bool {
	at := n.Pos()
	if table, ok := n.(*extast.Table); ok {
		at = table.FirstChild().Pos() // its own is that of the lines before it
	}
	if at < 0 || at > len(r.source) {
		return n.HasBlankPreviousLines()
	}
	end := bytes.LastIndexByte(r.source[:at], '\n')
	if end < 0 {
		return false
	}
	before := r.source[bytes.LastIndexByte(r.source[:end], '\n')+1 : end]
	return len(bytes.Trim(before, " \t>")) == 0
}

func (r *renderer) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		r.w.within(tagBold, func() { r.inlines(n) })
	case *ast.Paragraph, *ast.TextBlock:
		r.inlines(n)
	case *ast.ThematicBreak:
		r.w.text("———")
	case *ast.CodeBlock:
		r.pre("", r.lines(n))
	case *ast.FencedCodeBlock:
		r.fence(n)
	case *ast.Blockquote:
		r.quote(n)
	case *ast.List:
		r.list(n)
	case *ast.LinkReferenceDefinition:
		r.verbatim(r.lines(n))
	case *extast.Table:
		r.table(n)
	default:
		r.blocks(n)
	}
}

// lines returns the source of a block that holds no others.
func (r *renderer) lines(n ast.Node) string {
	var b bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(r.source))
	}
	return b.String()
}

// verbatim writes lines as they are.
func (r *renderer) verbatim(lines string) {
	for line := range strings.Lines(lines) {
		r.w.text(strings.TrimRight(line, "\n"))
		r.w.due(1)
	}
}

// word is what can name the language of a code block.
var word = regexp.MustCompile(`^[\pL\pN+#._-]{1,32}$`)

// fence writes a code block. An info string that can't be a language is text, as
// is one that no code follows: its words are shown as the first line.
func (r *renderer) fence(n *ast.FencedCodeBlock) {
	code := r.lines(n)
	if n.Info == nil {
		r.pre("", code)
		return
	}
	info := strings.TrimSpace(r.decode(n.Info.Value(r.source)))
	if word.MatchString(info) && !isBlank(code) {
		r.pre(info, code)
		return
	}
	r.pre("", info+"\n"+code)
}

// pre writes code, whose lines have no indentation but their own.
func (r *renderer) pre(language, code string) {
	code = strings.TrimSuffix(code, "\n")
	if isBlank(code) {
		return
	}
	if r.w.marker != "" {
		r.w.begin()
		r.w.due(1)
	}
	indent := r.w.indent
	r.w.indent = ""
	r.w.alone(tagPre(language), func() { r.w.text(code) })
	r.w.indent = indent
}

// quote writes a quotation. Telegram nests none, so one inside another has marks
// at its lines.
func (r *renderer) quote(n *ast.Blockquote) {
	if !r.w.quoted() {
		r.w.outermost(tagQuote, func() { r.blocks(n) })
		return
	}
	if r.w.depth >= maxDepth {
		r.blocks(n)
		return
	}
	r.w.indented("> ", "> ", func() { r.blocks(n) })
}

func (r *renderer) list(n *ast.List) {
	numbers := r.numbers(n)
	i := 0
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		if i > 0 {
			r.w.due(1)
			if r.apart(item) {
				r.w.due(2)
			}
		}
		marker := "• "
		if n.IsOrdered() {
			marker = fmt.Sprintf("%d%c ", numbers[i], n.Marker)
		}
		i++
		r.w.indented(marker, strings.Repeat(" ", utf16Len(marker)), func() {
			r.blocks(item)
			if r.w.marker != "" {
				r.w.begin()
			}
		})
	}
}

var ordinal = regexp.MustCompile(`[0-9]{1,9}[.)]`)

// numbers returns the numbers of an ordered list as they stand in the source, so
// that one which counts down does. Where all are the same, or one can't be told,
// they count up from the first.
func (r *renderer) numbers(n *ast.List) []int {
	var up, written []int
	same, told := true, true
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		up = append(up, n.Start+len(up))
		number, ok := r.number(item)
		written = append(written, number)
		same, told = same && number == written[0], told && ok
	}
	if same || !told {
		return up
	}
	return written
}

// number reads the number before an item's text.
func (r *renderer) number(item ast.Node) (int, bool) {
	first := item.FirstChild()
	for first != nil && (first.Type() != ast.TypeBlock || first.Lines().Len() == 0) {
		first = first.FirstChild()
	}
	if first == nil {
		return 0, false
	}
	start := first.Lines().At(0).Start
	line := r.source[bytes.LastIndexByte(r.source[:start], '\n')+1 : start]
	found := ordinal.FindAll(line, -1)
	if len(found) != 1 {
		return 0, false
	}
	number, err := strconv.Atoi(string(found[0][:len(found[0])-1]))
	return number, err == nil
}

// decode resolves the escapes and character references of Markdown.
func (r *renderer) decode(raw []byte) string {
	if !bytes.ContainsAny(raw, `\&`) {
		return string(raw)
	}
	var b bytes.Buffer
	w := bufio.NewWriterSize(&b, 256)
	html.DefaultWriter.Write(w, raw)
	w.Flush() //nolint:errcheck // a buffer takes everything
	return unescape.Replace(b.String())
}

// unescape undoes what the library escapes for HTML; escaping is the writer's.
var unescape = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&amp;", "&")

func isBlank(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return !unicode.IsSpace(c) }) < 0
}
