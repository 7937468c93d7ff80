package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/template"
	"time"

	"verbatim/internal/attachment"
	"verbatim/internal/chat"
	"verbatim/internal/golden"
	"verbatim/internal/id"
	"verbatim/internal/search"
)

const referencePage = "../../docs/http.md"

func TestReferencePageIsMadeFromTheTables(t *testing.T) {
	golden.File(t, referencePage, reference(t))
}

// TestRoutesAndPageAgree compares what the server answers with what the page
// says, by asking: the tables could be wrong together.
func TestRoutesAndPageAgree(t *testing.T) {
	page, err := os.ReadFile(referencePage)
	if err != nil {
		t.Fatal(err)
	}
	_, api := newWorld(t, nil)
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([A-Z]+) (/[^`]*)` \\|").FindAllStringSubmatch(string(page), -1) {
		method, path := m[1], m[2]
		listed[method+" "+path] = true
		path = regexp.MustCompile(`\{[^}]*\}`).ReplaceAllString(strings.Replace(path, "...", "app.js", 1), "0")
		rec := ask{method: method, path: path}.of(api)
		if rec.Code == 404 && strings.Contains(rec.Body.String(), "no such path") || rec.Code == 405 {
			t.Errorf("the page lists %s %s, the server says %d", method, path, rec.Code)
		}
	}
	for _, r := range Routes() {
		// Those have a page of their own.
		if !isNative(r.Path) && !listed[r.Method+" "+r.Path] {
			t.Errorf("the page does not list %s %s", r.Method, r.Path)
		}
	}
}

// reference writes the page from the tables that the server is made of.
func reference(t *testing.T) []byte {
	t.Helper()
	page, err := template.New("http.md.tmpl").Funcs(template.FuncMap{"cell": cell, "code": code, "values": values, "initial": initial}).ParseFiles("testdata/http.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = page.Execute(&b, map[string]any{
		"Routes": slices.DeleteFunc(Routes(), func(r Route) bool { return isNative(r.Path) }), "Errors": ErrorTable(), "IDBytes": id.MaxBytes,
		"BodyMiB": MaxBodyBytes >> 20, "PromptMiB": chat.MaxPromptBytes >> 20, "SmallMiB": smallBodyBytes >> 20,
		"HeaderKiB": MaxHeaderBytes >> 10, "URLKiB": MaxURLBytes >> 10, "HeaderSeconds": int(HeaderTime / time.Second),
		"BodySeconds": int(BodyTime / time.Second), "LaunchMinutes": int(LaunchLife / time.Minute),
		"Files": attachment.MaxFiles, "FileMiB": attachment.MaxBytes >> 20, "Queue": chat.MaxQueue,
		"QueryRunes": search.MaxQueryRunes, "InstructionsKB": MaxInstructionsBytes / 1000, "Settings": chat.SettingTable(),
		"NameRunes": MaxNameRunes, "CookieDays": int(cookieLife / (24 * time.Hour)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// values says what a setting can be.
func values(s chat.SettingSpec) string {
	switch {
	case len(s.OneOf) > 0:
		return "`" + strings.Join(s.OneOf, "`, `") + "`"
	case s.Min != nil:
		return fmt.Sprintf("%s from %v to %v", s.Type, int64(*s.Min), int64(*s.Max))
	case s.Type == "string":
		return fmt.Sprintf("text of at most %d bytes", s.MaxBytes)
	}
	return s.Type
}

// initial is a setting's default as JSON, nothing for what the model's server
// decides.
func initial(s chat.SettingSpec) (string, error) {
	if s.Default == nil {
		return "", nil
	}
	b, err := json.Marshal(s.Default)
	return string(b), err
}

// cell makes text safe in a table of Markdown.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

func code(s string) string {
	if s == "" {
		return ""
	}
	return "`" + cell(s) + "`"
}
