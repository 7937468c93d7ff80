package telegram

import (
	"strings"
	"unicode"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// maxTableColumns is the widest table that is drawn: a phone breaks wider lines.
const maxTableColumns = 60

// table draws a table in even columns, or writes a line a row where it is too
// wide or has links, which what is drawn can't hold.
func (r *renderer) table(n *extast.Table) {
	rows, linked := r.cells(n)
	widths := columnWidths(rows)
	total := 3 * (len(widths) - 1)
	for _, width := range widths {
		total += width
	}
	if linked || total > maxTableColumns {
		r.rows(n)
		return
	}
	var b strings.Builder
	for i, row := range rows {
		b.WriteString(drawRow(row, widths, n.Alignments) + "\n")
		if i == 0 {
			b.WriteString(drawRule(widths) + "\n")
		}
	}
	r.pre("", b.String())
}

// cells returns the text of each cell, and whether one has a link.
func (r *renderer) cells(n *extast.Table) (rows [][]string, linked bool) {
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var texts []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			inner := &renderer{source: r.source, w: writer{bare: true}}
			inner.inlines(cell)
			text, _ := inner.w.finish()
			texts = append(texts, strings.ReplaceAll(text, "\n", " "))
			linked = linked || hasLink(cell)
		}
		rows = append(rows, texts)
	}
	return rows, linked
}

func hasLink(n ast.Node) bool {
	switch n.(type) {
	case *ast.Link, *ast.Image, *ast.AutoLink:
		return true
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if hasLink(c) {
			return true
		}
	}
	return false
}

// rows writes a line a row, the header in bold.
func (r *renderer) rows(n *extast.Table) {
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		line := func() {
			for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
				if cell != row.FirstChild() {
					r.w.text(" | ")
				}
				r.inlines(cell)
			}
		}
		if row == n.FirstChild() {
			r.w.within(tagBold, line)
		} else {
			line()
		}
		r.w.due(1)
	}
}

func columnWidths(rows [][]string) []int {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 1)
			}
			widths[i] = max(widths[i], columns(cell))
		}
	}
	return widths
}

func drawRow(row []string, widths []int, alignments []extast.Alignment) string {
	cells := make([]string, len(widths))
	for i, width := range widths {
		var cell string
		if i < len(row) {
			cell = row[i]
		}
		space := width - columns(cell)
		left := 0
		if i < len(alignments) {
			switch alignments[i] {
			case extast.AlignRight:
				left = space
			case extast.AlignCenter:
				left = space / 2
			default:
			}
		}
		cells[i] = strings.Repeat(" ", left) + cell + strings.Repeat(" ", space-left)
	}
	return strings.TrimRight(strings.Join(cells, " | "), " ")
}

func drawRule(widths []int) string {
	rules := make([]string, len(widths))
	for i, width := range widths {
		rules[i] = strings.Repeat("-", width)
	}
	return strings.Join(rules, "-|-")
}

// columns estimates how wide s is in a font of even width.
func columns(s string) int {
	n := 0
	for _, c := range s {
		switch {
		case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		case util.EastAsianWidth(c) == "W", util.EastAsianWidth(c) == "F", c >= 0x1F300 && c <= 0x1FAFF:
			n += 2
		default:
			n++
		}
	}
	return n
}
