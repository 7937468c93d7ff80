package telegram

import (
	"bytes"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// newParser returns the Markdown that models write: CommonMark with tables,
// task lists and strikethrough, without what would take text away or change what
// was shown already. HTML is text. A line of dashes or equals signs below a line
// is no heading: while a list is being written, its first dash would make one.
func newParser() parser.Parser {
	return parser.NewParser(
		parser.WithBlockParsers(
			util.Prioritized(parser.NewThematicBreakParser(), 200),
			util.Prioritized(parser.NewListParser(), 300),
			util.Prioritized(parser.NewListItemParser(), 400),
			util.Prioritized(parser.NewCodeBlockParser(), 500),
			util.Prioritized(parser.NewATXHeadingParser(), 600),
			util.Prioritized(parser.NewFencedCodeBlockParser(), 700),
			util.Prioritized(parser.NewBlockquoteParser(), 800),
			util.Prioritized(parser.NewParagraphParser(), 1000),
		),
		parser.WithInlineParsers(
			util.Prioritized(extension.NewTaskCheckBoxParser(), 0),
			util.Prioritized(parser.NewCodeSpanParser(), 100),
			util.Prioritized(parser.NewLinkParser(), 200),
			util.Prioritized(parser.NewAutoLinkParser(), 300),
			util.Prioritized(parser.NewEmphasisParser(), 500),
			util.Prioritized(strikeParser{}, 500),
			util.Prioritized(extension.NewLinkifyParser(), 999),
		),
		parser.WithParagraphTransformers(
			util.Prioritized(parser.LinkReferenceParagraphTransformer, 100),
			util.Prioritized(wholeTables{extension.NewTableParagraphTransformer()}, 200),
		),
		parser.WithASTTransformers(
			util.Prioritized(extension.NewTableASTTransformer(), 0),
		),
	)
}

// strikeParser takes two tildes for strikethrough and leaves a single one alone:
// in "20~25 °C and 30~35 °C" it means "to".
type strikeParser struct{}

func (strikeParser) Trigger() []byte { return []byte{'~'} }

func (strikeParser) Parse(_ ast.Node, block text.Reader, pc parser.Context) ast.Node {
	before := block.PrecendingCharacter()
	line, segment := block.PeekLine()
	mark := parser.ScanDelimiter(line, before, 2, strikeMark{})
	if mark == nil || mark.OriginalLength != 2 || before == '~' {
		return nil
	}
	mark.Segment = segment.WithStop(segment.Start + mark.OriginalLength)
	block.Advance(mark.OriginalLength)
	pc.PushDelimiter(mark)
	return mark
}

type strikeMark struct{}

func (strikeMark) IsDelimiter(b byte) bool { return b == '~' }

func (strikeMark) CanOpenCloser(opener, closer *parser.Delimiter) bool {
	return opener.Char == closer.Char
}

func (strikeMark) OnMatch(int) ast.Node { return extast.NewStrikethrough() }

// wholeTables makes tables that lose nothing: the library drops the cells of a
// row that are more than its header has. Here they stay in the row's last cell.
type wholeTables struct{ inner parser.ParagraphTransformer }

func (t wholeTables) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	parent, before := node.Parent(), node.PreviousSibling()
	t.inner.Transform(node, reader, pc)
	n := parent.FirstChild()
	if before != nil {
		n = before.NextSibling()
	}
	for ; n != nil; n = n.NextSibling() {
		table, ok := n.(*extast.Table)
		if !ok {
			continue
		}
		for row := table.FirstChild(); row != nil; row = row.NextSibling() {
			widenLast(row, reader.Source())
		}
	}
}

// widenLast lets the last cell of a row reach to the end of its line.
func widenLast(row ast.Node, source []byte) {
	cell := row.LastChild()
	if cell == nil || cell.Lines().Len() == 0 {
		return
	}
	last := cell.Lines().Len() - 1
	segment := cell.Lines().At(last)
	end := len(source)
	if i := bytes.IndexByte(source[segment.Stop:], '\n'); i >= 0 {
		end = segment.Stop + i
	}
	rest := bytes.TrimRight(source[segment.Stop:end], " \t\r")
	rest = bytes.TrimSuffix(rest, []byte("|"))
	if len(bytes.Trim(rest, " \t|")) == 0 {
		return
	}
	stop := segment.Stop + len(bytes.TrimRight(rest, " \t"))
	cell.Lines().Set(last, segment.WithStop(stop))
}
