package sse_test

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
	"verbatim/internal/golden"
	"verbatim/internal/sse"
)

const page = "../../docs/protocol.md"

func TestReferencePageIsFresh(t *testing.T) {
	frame, err := template.ParseFiles("testdata/protocol.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var wire, native, got bytes.Buffer
	if err := errors.Join(sse.WriteReference(&wire), event.WriteReference(&native)); err != nil {
		t.Fatal(err)
	}
	parts := struct{ Wire, Native string }{wire.String(), strings.TrimSuffix(native.String(), "\n\n")}
	if err := frame.Execute(&got, parts); err != nil {
		t.Fatal(err)
	}
	golden.File(t, page, got.Bytes())
}

// TestReferencePageAndCodeNameTheSame reads the page as it is committed and
// compares names in both directions, so that a page made from a wrong frame is
// found too.
func TestReferencePageAndCodeNameTheSame(t *testing.T) {
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	compat, native, ok := strings.Cut(string(data), "\n## The native form\n")
	if !ok {
		t.Fatal("the page has no part for the native form")
	}
	wire := map[string][]string{}
	for _, w := range sse.Table() {
		for _, f := range w.Fields {
			wire[w.Name] = append(wire[w.Name], f.Name)
		}
	}
	if diff := cmp.Diff(wire, named(compat, regexp.MustCompile("(?m)^\\| `([a-z_0-9]+)` \\|"))); diff != "" {
		t.Errorf("the eleven events (-code +page):\n%s", diff)
	}
	kinds := map[string][]string{}
	for _, s := range event.Specs() {
		kinds[string(s.Kind)] = nil
		for _, f := range s.Fields() {
			kinds[string(s.Kind)] = append(kinds[string(s.Kind)], f.Name)
		}
	}
	_, list, _ := strings.Cut(native, "### The kinds")
	if diff := cmp.Diff(kinds, named(inner.ReplaceAllString(list, ""), regexp.MustCompile("(?m)(?:^|, )`([a-z_0-9]+)` [a-z]+"))); diff != "" {
		t.Errorf("the native kinds (-code +page):\n%s", diff)
	}
	for _, name := range event.RecordFields() {
		if !strings.Contains(native, "\n| `"+name+"` |") {
			t.Errorf("the page does not name the record's member %s", name)
		}
	}
}

// inner is the members of a nested object.
var inner = regexp.MustCompile(` \{[^{}"]*(\{[^{}"]*\}[^{}"]*)*\}`)

// named returns, for each heading of a part of the page, the names of fields
// that follow it.
func named(part string, field *regexp.Regexp) map[string][]string {
	names := map[string][]string{}
	for section := range strings.SplitSeq(part, "\n#### `") {
		name, body, ok := strings.Cut(section, "`\n")
		if !ok || strings.Contains(name, "\n") {
			continue
		}
		body, _, _ = strings.Cut(body, "\n```")
		names[name] = nil
		for _, match := range field.FindAllStringSubmatch(body, -1) {
			names[name] = append(names[name], match[1])
		}
	}
	return names
}

func TestWriteReferenceReportsTheWritersError(t *testing.T) {
	for room := range 3 {
		if err := sse.WriteReference(&narrow{room}); err == nil {
			t.Errorf("an error after %d writes is lost", room)
		}
	}
}

// narrow takes a few writes and refuses the next.
type narrow struct{ room int }

func (n *narrow) Write(b []byte) (int, error) {
	if n.room == 0 {
		return 0, errors.New("broken pipe")
	}
	n.room--
	return len(b), nil
}
