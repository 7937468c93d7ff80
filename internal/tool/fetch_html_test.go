package tool

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadable(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, page, want string }{
		{"white space", "<p> a \n\t b\u00a0 c </p>\n\n<p>d<br>e</p>", "a b c\n\nd\ne\n"},
		{"title and headings", "<title>T &amp; U</title><h1>One</h1>x<h3>Three</h3>y", "T & U\n\n# One\n\nx\n\n### Three\n\ny\n"},
		{"what is not read", "a<script>if (1<2) evil()</script><style>p{}</style><!-- c --><iframe>x</iframe>b", "ab\n"},
		{"a script without end", "a<script>b", "a\n"},
		{"without scripts", "<noscript><p>Please <b>read</b></noscript>", "Please read\n"},
		{"links", `see <a href="/x?a=b#c">the <b>page</b></a>, <a href="https://e.test/(1)"> it </a>.`, "see [the page](http://h.test/x?a=b#c), [it](https://e.test/%281%29) .\n"},
		{"links that lead nowhere", `<a href="#top">top</a> <a href="javascript:x()">run</a> <a href="data:,x">data</a> <a>none</a> <a href="http://[">broken</a>`, "top run data none broken\n"},
		{"links without text", `a <a href="/x"></a><a href="/y"> </a>b`, "a b\n"},
		{"mail", `<a href="mailto:a@b.test">write</a>`, "[write](mailto:a@b.test)\n"},
		{"a link without end", `<a href="/x">a<p>b <a href="/y">c`, "[a\n\nb](http://h.test/x) [c](http://h.test/y)\n"},
		{"a base", `<base href="https://cdn.test/dir/"><a href="x">a</a>`, "[a](https://cdn.test/dir/x)\n"},
		{"a picture", `<a href="/x"><img src="y.png" alt="A hill"></a><img src=z>`, "[A hill](http://h.test/x)\n"},
		{"lists", "<ul><li>one<li>two<ul><li>inner</ul><li><p>three<p>more<li></ul>after<ul><li><h2>x</h2></ul>", "- one\n- two\n  - inner\n- three\n\nmore\n\nafter\n\n- ## x\n"},
		{"a table", "<table><tr><th>a<th>b<tr><td>1<td>2</table>x", "a | b\n1 | 2\n\nx\n"},
		{"text as written", "a<pre>\n  x\n\n    y &lt;z&gt;</pre>b", "a\n\n  x\n\n    y <z>\n\nb\n"},
		{"ends without beginnings", "</ul></pre></a></p>a</ul>b", "a\n\nb\n"},
		{"nested without end", strings.Repeat("<div><ul><li>", 20000) + "x", strings.Repeat("  ", 7) + "- x\n"},
		{"no markup", "a < b", "a < b\n"},
		{"nothing", "", ""},
	}
	base, err := url.Parse("http://h.test/dir/page")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, readable(tt.page, base)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}
