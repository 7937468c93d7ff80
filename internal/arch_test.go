// Package internal_test holds the rules that no single package can keep.
package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "verbatim/"

// rule says which packages of this module a package may import, and why.
// "internal/provider/" at the end of a pattern means everything below it.
type rule struct {
	pkg    string
	may    string
	reason string
}

var rules = []rule{
	// Words: the standard library and each other.
	{"internal/id", "", "ids are the bottom: everything names things"},
	{"internal/event", "internal/id", "the vocabulary knows names, not where it is kept"},
	{"internal/transcript", "internal/id internal/event", "a pure fold: values in, values out"},
	{"internal/llm", "internal/id internal/event", "a model's answer in no provider's terms; its failures are the vocabulary's codes"},
	{"internal/llm/sseread", "internal/llm", "lines off a socket; a line too long is a failure of the model"},
	{"internal/search", "internal/id", "what finding a word means: values in, values out"},
	{"internal/netguard", "", "which addresses are public; what is asked of them it does not know"},
	{"internal/term", "", "makes text safe to print; knows nothing of where it is from"},
	{"internal/attachment", "", "what a file is, from its bytes: values in, values out"},

	// Truth.
	{"internal/turnlog", "internal/id internal/event", "the log states what it needs of a store and never imports one"},
	{"internal/store", "internal/id internal/event internal/transcript internal/turnlog internal/search internal/approval internal/blob internal/delivery internal/surface", "one way to keep the log, behind turnlog.Store"},
	{"internal/blob", "", "files with names; what refers to them is the log's"},

	// Work in.
	{"internal/provider", "internal/llm internal/event internal/provider/", "the table of providers"},
	{"internal/provider/openai", "internal/llm internal/llm/sseread internal/event", "a codec: bytes to chunks; nothing of ours above llm"},
	{"internal/provider/script", "internal/llm internal/event internal/provider/openai", "a played file goes through the codec of the real thing"},
	{"internal/approval", "internal/id internal/event internal/turnlog", "asks people and waits; how it came out it reads from the log, and where rules are kept it does not know"},
	{"internal/tool", "internal/event internal/netguard", "what the model can do; who is asked and where output is kept is not its business"},
	{"internal/agent", "internal/id internal/event internal/llm internal/turnlog internal/transcript internal/approval internal/tool", "one run: from the model to the log"},
	{"internal/chat", "internal/id internal/event internal/llm internal/turnlog internal/transcript internal/agent internal/tool internal/attachment", "commands; it reads the log by the fold and never shows anything"},

	// Views out: each holds a cursor and knows no other, nor who writes.
	{"internal/sse", "internal/id internal/event internal/turnlog", "a view: the log's records as frames"},
	{"internal/archive", "internal/id internal/event internal/turnlog internal/transcript internal/blob", "a view that can be read back: the log's records and their blobs in a file"},
	{"internal/library", "internal/id internal/event internal/turnlog internal/transcript", "a view: the log's records as rows"},

	// Chat platforms: a view that posts, and what is written there.
	{"internal/surface", "", "what a chat platform is asked to do; a platform knows nothing else of ours"},
	{"internal/surface/surfacetest", "internal/surface internal/memnet", "the suite that every platform runs, over connections in memory"},
	{"internal/surface/", "internal/surface internal/surface/", "a platform: its own API behind the contract, in a folder of its own"},
	{"docs/recipes/ntfy", "internal/surface", "the example of a platform"},
	{"internal/split", "", "where a text may be cut: values in, values out"},
	{"internal/delivery", "internal/id internal/event internal/turnlog internal/split internal/surface", "a view: the log's records as posts; what it needs of a store it states itself"},
	{"internal/delivery/deliverytest", "internal/id internal/event internal/turnlog internal/surface internal/delivery", "the suite that every store of lanes runs, and one in memory"},
	{"internal/delivery/sim", "internal/id internal/event internal/turnlog internal/split internal/surface internal/delivery internal/delivery/deliverytest", "the real lane under faults, judged by what a reader sees"},
	{"internal/inbound", "internal/id internal/event internal/turnlog internal/transcript internal/chat internal/approval internal/attachment internal/surface internal/delivery", "what is written in chats becomes commands"},

	// Doors and wiring.
	{"internal/httpapi", "internal/id internal/event internal/turnlog internal/chat internal/library internal/sse internal/approval internal/attachment internal/search internal/archive internal/blob internal/delivery", "the door: it takes commands to chat and readers to the views"},
	{"internal/client", "internal/id internal/event", "speaks our own wire as a stranger would"},
	{"internal/config", "internal/surface", "settings are text and numbers; of a platform it knows the keys"},
	{"internal/app", "internal/", "the one place where the parts meet"},
	{"cmd/verbatim", "internal/app internal/client internal/config internal/term internal/store internal/event internal/id internal/delivery/sim", "flags, signals, exit codes; the work is app's"},

	// Test kits.
	{"internal/faultfs", "", "a file system that fails, under SQLite"},
	{"internal/memnet", "", "connections in memory"},
	{"internal/golden", "", "files to compare with"},
	{"internal/turnlog/turnlogtest", "internal/id internal/event internal/turnlog internal/transcript internal/faultfs", "the suite that every store runs"},
}

func TestImportEdges(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range sources(t) {
		if f.test {
			continue
		}
		seen[f.pkg] = true
		i := ruleOf(f.pkg)
		if i < 0 {
			if !isTool(f.pkg) {
				t.Errorf("%s: package %s has no line in the table of allowed imports", f.path, f.pkg)
			}
			continue
		}
		for _, imp := range f.imports {
			if in, ok := strings.CutPrefix(imp, module); ok && (!allowed(rules[i].may, in) || isOtherPlatform(f.pkg, in)) {
				t.Errorf("%s imports %s; allowed are [%s], because: %s", f.path, in, rules[i].may, rules[i].reason)
			}
		}
	}
	for _, r := range rules {
		if !seen[r.pkg] && !strings.HasSuffix(r.pkg, "/") {
			t.Logf("%s has a line in the table but no code", r.pkg)
		}
	}
}

// ruleOf returns the rule of a package: its own, else that of a folder above it.
func ruleOf(pkg string) int {
	if i := slices.IndexFunc(rules, func(r rule) bool { return r.pkg == pkg }); i >= 0 {
		return i
	}
	return slices.IndexFunc(rules, func(r rule) bool { return strings.HasSuffix(r.pkg, "/") && strings.HasPrefix(pkg, r.pkg) })
}

// isOtherPlatform reports that a platform imports another one.
func isOtherPlatform(pkg, imp string) bool {
	const platforms = "internal/surface/"
	own, ok := strings.CutPrefix(pkg, platforms)
	other, also := strings.CutPrefix(imp, platforms)
	if !ok || !also || other == "surfacetest" {
		return false
	}
	own, _, _ = strings.Cut(own, "/")
	other, _, _ = strings.Cut(other, "/")
	return own != other
}

// isTool reports whether a package is a program for tests and measurements,
// which may import what it measures and is imported by nobody.
func isTool(pkg string) bool {
	return strings.HasPrefix(pkg, "bench") || strings.Contains(pkg, "/cmd/") || strings.HasPrefix(pkg, "internal/e2e") || pkg == "scripts" || pkg == "oracle"
}

func allowed(may, pkg string) bool {
	for pattern := range strings.FieldsSeq(may) {
		if pkg == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(pkg, pattern) {
			return true
		}
	}
	return false
}

// outside lists the modules from elsewhere and the packages that may import
// them.
var outside = []struct {
	prefix string
	pkgs   []string
	reason string
}{
	{"modernc.org/", []string{"internal/store", "internal/faultfs"}, "only store knows which database it is"},
	{"github.com/prometheus/", []string{"internal/httpapi"}, "figures are exported at the door"},
	{"github.com/alecthomas/kong", []string{"cmd/verbatim"}, "only the command has flags"},
	{"go.yaml.in/", []string{"internal/config"}, "only settings are YAML"},
	{"golang.org/x/text/", []string{"internal/search", "internal/attachment"}, "only search looks into characters, and only attachments into encodings before Unicode"},
	{"github.com/aymanbagabas/go-udiff", []string{"internal/tool"}, "only tools show differences of files"},
	{"github.com/yuin/goldmark", []string{"internal/surface/telegram"}, "only a platform with markup of its own reads Markdown as a tree"},
	{"github.com/rivo/uniseg", []string{"internal/split", "internal/surface/telegram"}, "only text that is cut is counted in what readers call characters"},
	{"golang.org/x/net/", []string{"internal/tool", "internal/netguard"}, "only tools read pages, and only netguard the names of hosts"},
	{"golang.org/x/sys/", []string{"internal/store", "internal/sse", "internal/app", "internal/faultfs", "internal/tool"}, "system calls stay at the rim"},
}

// testOnly may be imported by tests and test kits, and by nothing else.
var testOnly = []string{
	"github.com/google/go-cmp/", "go.uber.org/goleak", "github.com/rogpeppe/go-internal/",
	"golang.org/x/tools/", "golang.org/x/sys/", "github.com/go-telegram/bot", "testing",
}

var kits = []string{"internal/golden", "internal/memnet", "internal/faultfs", "internal/turnlog/turnlogtest", "internal/delivery/deliverytest", "internal/surface/surfacetest"}

func TestOutsideImports(t *testing.T) {
	for _, f := range sources(t) {
		for _, imp := range f.imports {
			if !f.test && isTool(f.pkg) {
				continue
			}
			first, _, _ := strings.Cut(imp, "/")
			if strings.HasPrefix(imp, module) || !strings.Contains(first, ".") && imp != "testing" {
				continue
			}
			if !mayUse(f, imp) {
				t.Errorf("%s imports %s, which its package may not", f.path, imp)
			}
		}
	}
}

func mayUse(f source, imp string) bool {
	if f.test || slices.Contains(kits, f.pkg) {
		if slices.ContainsFunc(testOnly, func(p string) bool { return strings.HasPrefix(imp+"/", strings.TrimSuffix(p, "/")+"/") }) {
			return true
		}
	}
	for _, o := range outside {
		if strings.HasPrefix(imp, o.prefix) {
			return slices.Contains(o.pkgs, f.pkg)
		}
	}
	return false
}

// A test that sleeps is slow on a good day and wrong on a bad one; inside a
// synctest bubble time is not real and sleeping is how it passes.
func TestNoTestSleeps(t *testing.T) {
	for _, f := range sources(t) {
		if !f.test || len(f.sleeps) == 0 || f.bubbles {
			continue
		}
		if reason, ok := sleepers[f.path]; ok {
			t.Logf("%s sleeps: %s", f.path, reason)
			continue
		}
		t.Errorf("%s calls time.Sleep (lines %v) and has no synctest bubble", f.path, f.sleeps)
	}
}

// sleepers are the test files that may sleep without a bubble, each with the
// reason.
var sleepers = map[string]string{
	"internal/turnlog/bench_linux_test.go": "what is measured is a producer of 200 events a second",
	"internal/inbound/carry_test.go":       "its tests run in bubbles that kit_test.go makes",
	"internal/inbound/change_test.go":      "its tests run in bubbles that kit_test.go makes",
	"internal/inbound/race_test.go":        "its tests run in bubbles that kit_test.go makes",
}

// Nothing but the scripted provider may name the demo: it is a model like any
// other, and the rest of the product must not lean on what it says.
func TestOnlyScriptNamesTheDemo(t *testing.T) {
	word := regexp.MustCompile(`(?i)\bdemo\b`)
	for _, f := range sources(t) {
		if f.test || slices.Contains(kits, f.pkg) || strings.HasPrefix(f.pkg, "internal/provider") || isTool(f.pkg) {
			continue
		}
		for _, text := range f.strings {
			if word.MatchString(text) && !slices.Contains(demoMentions, f.path) {
				t.Errorf("%s names the demo: %q", f.path, text)
			}
		}
	}
}

// demoMentions are files whose words to people mention that there is a demo.
var demoMentions = []string{"internal/config/config.go"}

func TestFilesStaySmall(t *testing.T) {
	const most = 400
	for _, f := range sources(t) {
		if !f.test && f.lines > most {
			t.Errorf("%s has %d lines; look for the second noun in it", f.path, f.lines)
		}
	}
}

func TestNoInit(t *testing.T) {
	for _, f := range sources(t) {
		if f.test || isTool(f.pkg) {
			continue
		}
		if f.init {
			t.Errorf("%s has an init function", f.path)
		}
	}
}

type source struct {
	path, pkg string
	test      bool
	bubbles   bool // uses testing/synctest
	init      bool
	lines     int
	imports   []string
	strings   []string
	sleeps    []int
	tests     []string // tests and fuzz targets, by the function's name
}

// sources parses every Go file of this module.
func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]source{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(root, path, d.Name())
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		f, err := parse(path)
		f.path = filepath.ToSlash(rel)
		f.pkg = filepath.ToSlash(filepath.Dir(rel))
		files[f.path] = f
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.SortedFunc(maps.Values(files), func(a, b source) int { return strings.Compare(a.path, b.path) })
}

// skip leaves out what is not of this module: hidden folders, data, and folders
// with a go.mod of their own.
func skip(root, path, name string) error {
	if path == root {
		return nil
	}
	if strings.HasPrefix(name, ".") || name == "testdata" || name == "bin" {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func parse(path string) (source, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return source{}, err
	}
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, path, raw, parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	f := source{test: strings.HasSuffix(path, "_test.go"), lines: strings.Count(string(raw), "\n")}
	for _, imp := range tree.Imports {
		p, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return source{}, err
		}
		f.imports = append(f.imports, p)
	}
	f.bubbles = slices.Contains(f.imports, "testing/synctest")
	ast.Inspect(tree, func(n ast.Node) bool {
		f.look(fset, n)
		return true
	})
	return f, nil
}

// testName is how go test knows a test or a fuzz target.
var testName = regexp.MustCompile(`^(Test|Fuzz)([^\p{Ll}]|$)`)

func (f *source) look(fset *token.FileSet, n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.STRING {
			f.strings = append(f.strings, n.Value)
		}
	case *ast.FuncDecl:
		f.init = f.init || n.Recv == nil && n.Name.Name == "init"
		if f.test && n.Recv == nil && n.Name.Name != "TestMain" && testName.MatchString(n.Name.Name) {
			f.tests = append(f.tests, n.Name.Name)
		}
	case *ast.SelectorExpr:
		if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && n.Sel.Name == "Sleep" {
			f.sleeps = append(f.sleeps, fset.Position(n.Pos()).Line)
		}
	}
}
