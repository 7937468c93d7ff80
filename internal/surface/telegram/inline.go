package telegram

import (
	"net/url"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// inlines writes the text of a block.
func (r *renderer) inlines(parent ast.Node) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		r.inline(n)
	}
}

func (r *renderer) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		r.w.text(r.decode(n.Value(r.source)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			r.w.due(1)
		}
	case *ast.String:
		r.w.text(string(n.Value))
	case *ast.CodeSpan:
		r.code(n)
	case *ast.Emphasis:
		t := tagItalic
		if n.Level > 1 {
			t = tagBold
		}
		r.w.within(t, func() { r.inlines(n) })
	case *extast.Strikethrough:
		r.w.within(tagStrike, func() { r.inlines(n) })
	case *ast.Link:
		r.link(n, n.Destination, n.Title, n.Reference != nil)
	case *ast.Image:
		r.link(n, n.Destination, n.Title, n.Reference != nil)
	case *ast.AutoLink:
		r.w.text(string(n.Label(r.source)))
	case *extast.TaskCheckBox:
		box := "☐ "
		if n.IsChecked {
			box = "☑ "
		}
		r.w.text(box)
	default:
		r.inlines(n)
	}
}

// code writes a code span. A link can't hold code, and is worth more.
func (r *renderer) code(n *ast.CodeSpan) {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Value(r.source))
		}
	}
	code := strings.ReplaceAll(b.String(), "\n", " ")
	if r.w.linked() {
		r.w.text(code)
		return
	}
	r.w.alone(tagCode, func() { r.w.text(code) })
}

// link writes a link or, as one, an image. An address that Telegram would drop,
// and a title, are written beside the text, unless they stand in a definition of
// their own, which is shown.
func (r *renderer) link(n ast.Node, destination, title []byte, defined bool) {
	address := string(util.URLEscape(destination, true))
	shown := r.decode(destination)
	before := r.w.units
	if linkable(address) && !r.w.linked() && !r.w.bare && r.w.opened < maxEntities {
		r.w.within(tagLink(address), func() {
			r.inlines(n)
			if r.w.units == before {
				r.w.text(shown)
			}
		})
		shown = ""
	} else {
		r.inlines(n)
	}
	if r.w.units == before {
		r.w.text(shown)
		shown = ""
	}
	if defined {
		return
	}
	for _, beside := range []string{shown, r.decode(title)} {
		if !isBlank(beside) {
			r.w.text(" (" + strings.ReplaceAll(beside, "\n", " ") + ")")
		}
	}
}

// linkable reports whether Telegram makes a link of an address: of one that names
// a host on the internet or something in Telegram. Of others it drops the
// address; one of e-mail it finds by itself.
func linkable(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	switch u.Scheme {
	case "http", "https":
		return strings.Contains(u.Hostname(), ".")
	case "tg":
		return u.Host != ""
	default:
		return false
	}
}
