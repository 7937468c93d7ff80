package tool

import (
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// maxLinkBytes is how long the address of a link may be; the text of longer
// ones stays.
const maxLinkBytes = 2000

// readable reduces HTML to what a person would read of it: text with links as
// [text](address), headings and list items as Markdown writes them. Tags are
// taken one after the other, so a page that is broken or nested without end
// costs no more than its length.
func readable(page string, at *url.URL) string {
	r := &reader{base: at}
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			r.endLink()
			return r.flow.end()
		case html.TextToken:
			r.text(string(z.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			t := z.Token()
			if t.DataAtom == atom.Noscript {
				// No script is run here, so what it holds is markup like any.
				z.NextIsNotRawText()
			}
			r.start(t)
		case html.EndTagToken:
			r.stop(z.Token().DataAtom)
		default:
			// Comments and the doctype are not for readers.
		}
	}
}

// reader holds where in a page we are.
type reader struct {
	flow flow
	// base is what links are relative to.
	base *url.URL
	// unread is set within an element whose content is not text of the page.
	// The tokenizer takes all up to its end for one text.
	unread bool
	// link is the address of the link that is open, nil for none.
	link *string
	// lists counts the lists that are open, cells those of the row so far, pre
	// the elements whose white space counts.
	lists, cells, pre int
}

func (r *reader) text(s string) {
	if r.unread {
		return
	}
	// A link begins with its first text, so one without any leaves nothing.
	if r.link != nil && strings.TrimSpace(s) != "" {
		s = r.flow.open(s)
	}
	if r.pre > 0 {
		r.flow.raw(s)
	} else {
		r.flow.text(s)
	}
}

func (r *reader) start(t html.Token) {
	switch t.DataAtom {
	case atom.Script, atom.Style, atom.Iframe, atom.Noembed, atom.Noframes:
		r.unread = true
	case atom.Base:
		if u, ok := r.address(t); ok {
			r.base = u
		}
	case atom.A:
		r.endLink()
		if u, ok := r.address(t); ok {
			s := linkEscaper.Replace(u.String())
			r.link = &s
		}
	case atom.Img:
		r.text(attribute(t, "alt"))
	case atom.Br:
		r.flow.newline()
	case atom.Hr:
		r.flow.block(2)
		r.flow.text("---")
		r.flow.block(2)
	case atom.Ul, atom.Ol:
		r.flow.block(r.listGap())
		r.lists++
	case atom.Li:
		r.endItem(1)
		r.flow.prefix = strings.Repeat("  ", max(min(r.lists, 8)-1, 0)) + "- "
	case atom.Tr:
		r.flow.block(1)
		r.cells = 0
	case atom.Td, atom.Th:
		if r.cells++; r.cells > 1 {
			r.flow.text(" | ")
		}
	default:
		r.startBlock(t.DataAtom)
	}
}

func (r *reader) startBlock(a atom.Atom) {
	r.flow.block(gaps[a])
	switch {
	case a == atom.Pre || a == atom.Textarea:
		r.pre++
	case headings[a] > 0:
		r.flow.prefix += strings.Repeat("#", headings[a]) + " "
	}
}

func (r *reader) stop(a atom.Atom) {
	switch a {
	case atom.Script, atom.Style, atom.Iframe, atom.Noembed, atom.Noframes:
		r.unread = false
	case atom.A:
		r.endLink()
	case atom.Ul, atom.Ol:
		r.lists = max(r.lists-1, 0)
		r.endItem(r.listGap())
	case atom.Pre, atom.Textarea:
		r.pre = max(r.pre-1, 0)
		r.flow.block(gaps[a])
	case atom.Li:
		r.endItem(1)
	case atom.Tr:
		r.flow.block(1)
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		r.endItem(gaps[a])
	default:
		r.flow.block(gaps[a])
	}
}

// endItem ends a block that has a prefix, which goes with it if it is empty.
func (r *reader) endItem(lines int) {
	r.flow.prefix = ""
	r.flow.block(lines)
}

func (r *reader) listGap() int {
	if r.lists > 0 {
		return 1
	}
	return 2
}

func (r *reader) endLink() {
	if r.link != nil {
		r.flow.shut("](" + *r.link + ")")
	}
	r.link = nil
}

// address returns where an element leads to, if a reader can go there.
func (r *reader) address(t html.Token) (*url.URL, bool) {
	href := strings.TrimSpace(attribute(t, "href"))
	if href == "" || href[0] == '#' || len(href) > maxLinkBytes {
		return nil, false
	}
	u, err := r.base.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" && (u.Scheme != "mailto" || t.DataAtom == atom.Base) {
		return nil, false
	}
	return u, true
}

// linkEscaper keeps an address within its parentheses.
var linkEscaper = strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29")

func attribute(t html.Token, name string) string {
	for _, a := range t.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// headings are the levels of the elements that are one. Neither table is ever
// written to.
var headings = map[atom.Atom]int{atom.H1: 1, atom.H2: 2, atom.H3: 3, atom.H4: 4, atom.H5: 5, atom.H6: 6}

// gaps are the line ends around the elements that stand on lines of their own.
var gaps = map[atom.Atom]int{
	atom.Title: 2, atom.P: 2, atom.Pre: 2, atom.Blockquote: 2, atom.Table: 2, atom.Figure: 2, atom.Dl: 2,
	atom.H1: 2, atom.H2: 2, atom.H3: 2, atom.H4: 2, atom.H5: 2, atom.H6: 2,
	atom.Div: 1, atom.Section: 1, atom.Article: 1, atom.Header: 1, atom.Footer: 1, atom.Nav: 1, atom.Aside: 1,
	atom.Main: 1, atom.Form: 1, atom.Fieldset: 1, atom.Address: 1, atom.Caption: 1, atom.Figcaption: 1,
	atom.Dt: 1, atom.Dd: 1, atom.Option: 1, atom.Textarea: 1, atom.Summary: 1, atom.Details: 1, atom.Body: 1,
}
