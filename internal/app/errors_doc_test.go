package app

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/golden"
	"verbatim/internal/httpapi"
)

const errorsHead = `# Errors

There are two places where something can go wrong: a request that is refused, and a run that fails. Clients branch on codes, never on the words of a message; messages are for people. The tables are made from the code: ` + "`go test ./internal/app -run Errors -update`" + `.

## A request that is refused

The answer has the status below and is JSON, never HTML: ` + "`{\"ok\": false, \"error\": \"a sentence\", \"code\": \"…\"}`" + `; below ` + "`/api/v1`" + ` it is a problem of RFC 9457 with the sentence as ` + "`detail`" + ` and the same ` + "`code`" + `. Nothing was changed by it. The sentence may be finer than the one here.

| code | status | meaning |
|---|---|---|
`

const runsHead = `
## A run that fails

The last event of its stream is ` + "`error`" + ` with a kind, a code and a message. What was said before stays, is shown, and is part of the conversation. ` + "`retryable`" + ` says that the same may work later, ` + "`retry_after`" + ` how many seconds the provider asked to wait. The kind is one of five:

| kind | meaning | what to do |
|---|---|---|
`

const codesHead = `
The code is finer. It is empty when the kind says it all.

| code | meaning | what to do |
|---|---|---|
`

const errorsTail = `
## The command

Commands end with 0, with 1 when what was asked failed, and with 2 when the command line or the configuration makes no sense. What went wrong is a sentence on standard error; data is only ever on standard output.
`

var kindDocs = []struct {
	kind          event.ErrorKind
	meaning, todo string
}{
	{event.ErrorAuth, "the provider refused the key", "check `OPENAI_API_KEY`, or `api_key` in the settings"},
	{event.ErrorRateLimit, "the provider wants fewer requests, or has no quota left", "wait as long as it says; see the code"},
	{event.ErrorNoAnswer, "tools ran, or the model only thought, and no answer came; the message says how many calls succeeded", "ask again; the tool cards stay"},
	{event.ErrorEmpty, "nothing came at all", "ask again"},
	{event.ErrorInternal, "everything else", "see the code and the message"},
}

var codeDocs = []struct {
	code          event.ErrorCode
	meaning, todo string
}{
	{event.CodeQuota, "the account with the provider has nothing left", "add credit, or choose another model"},
	{event.CodeOverloaded, "the provider has more to do than it can", "try again in a minute"},
	{event.CodeContextLength, "the conversation is longer than the model takes", "lower `context_tokens`, or begin a new conversation"},
	{event.CodeContentFilter, "the provider withheld the answer", "put the question in other words"},
	{event.CodeTimeout, "the provider was silent for `idle_timeout`, or said that it took too long", "try again"},
	{event.CodeNetwork, "the provider can't be reached, or its stream broke off", "check the network and `base_url`, then try again"},
	{event.CodeToolLoop, "the model went on calling tools without an end", "ask for less at once"},
	{event.CodeConfig, "the settings don't fit the provider: no such model, a wrong address", "run `verbatim doctor`"},
	{event.CodeInterrupted, "the process ended while the run went on", "ask again; what was said is kept"},
	{event.CodeReasoningOnly, "the model thought and then said nothing", "ask again, or raise `max_tokens`"},
	{event.CodeDiskFull, "the disk is full", "free some space; see [backup.md](backup.md#a-full-disk)"},
	{event.CodeBug, "a mistake in Verbatim", "report it with the lines of the log"},
}

func TestErrorsPage(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(errorsHead)
	for _, d := range httpapi.ErrorTable() {
		fmt.Fprintf(&b, "| `%s` | %d | %s |\n", d.Kind, d.Status, d.Sentence)
	}
	b.WriteString(runsHead)
	for _, d := range kindDocs {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.kind, d.meaning, d.todo)
	}
	b.WriteString(codesHead)
	for _, d := range codeDocs {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", d.code, d.meaning, d.todo)
	}
	b.WriteString(errorsTail)
	golden.File(t, "../../docs/errors.md", b.Bytes())
}

// Every kind and code that the vocabulary has is on the page.
func TestErrorsPageIsComplete(t *testing.T) {
	var kinds, codes []string
	for _, d := range kindDocs {
		kinds = append(kinds, string(d.kind))
	}
	for _, d := range codeDocs {
		codes = append(codes, string(d.code))
	}
	for name, want := range constants(t, "ErrorKind") {
		if !slices.Contains(kinds, want) {
			t.Errorf("%s (%q) is not on the page", name, want)
		}
	}
	for name, want := range constants(t, "ErrorCode") {
		if want != "" && !slices.Contains(codes, want) {
			t.Errorf("%s (%q) is not on the page", name, want)
		}
	}
}

// constants returns the constants of a type in the vocabulary, by name.
func constants(t *testing.T, typ string) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../event/terminal.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		id, isType := v.Type.(*ast.Ident)
		lit, isText := v.Values[0].(*ast.BasicLit)
		if isType && isText && id.Name == typ {
			found[v.Names[0].Name], err = strconv.Unquote(lit.Value)
		}
		return true
	})
	if err != nil || len(found) == 0 {
		t.Fatalf("no constants of %s found: %v", typ, err)
	}
	return found
}
