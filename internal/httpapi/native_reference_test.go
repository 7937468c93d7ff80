package httpapi

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"
	"text/template"
	"time"

	"verbatim/internal/attachment"
	"verbatim/internal/golden"
	"verbatim/internal/library"
	"verbatim/internal/search"
)

const nativePage = "../../docs/native.md"

func TestNativeReferencePageIsMadeFromTheTables(t *testing.T) {
	page, err := template.New("native.md.tmpl").Funcs(template.FuncMap{"cell": cell, "code": code}).ParseFiles("testdata/native.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Routes": slices.DeleteFunc(Routes(), func(r Route) bool { return !isNative(r.Path) }),
		"Items":  library.DefaultItems, "MaxItems": library.MaxItems, "Rows": library.DefaultRows, "MaxRows": library.MaxRows,
		"Hits": search.DefaultHits, "MaxHits": search.MaxHits, "MaxFiles": attachment.MaxFiles, "FileMiB": attachment.MaxBytes >> 20,
		"UploadMinutes": int(UploadLife / time.Minute), "MaxUploads": MaxUploads, "ImportGiB": MaxImportBytes >> 30,
		"KeyHeader": KeyHeader, "KeyBytes": MaxKeyBytes, "ReplayedHeader": ReplayedHeader,
	})
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, nativePage, b.Bytes())
}

// TestNativeRoutesAndPageAgree reads the page as a client's author does.
func TestNativeRoutesAndPageAgree(t *testing.T) {
	page, err := os.ReadFile(nativePage)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z]+ /api/v1/[^`]*)` \\|").FindAllStringSubmatch(string(page), -1) {
		listed[m[1]] = true
	}
	for _, r := range Routes() {
		if isNative(r.Path) && !listed[r.Method+" "+r.Path] {
			t.Errorf("the page does not list %s %s", r.Method, r.Path)
		}
		delete(listed, r.Method+" "+r.Path)
	}
	for name := range listed {
		t.Errorf("the page lists %s, which is not there", name)
	}
}
