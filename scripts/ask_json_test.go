package scripts

import (
	"bytes"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"verbatim/internal/event"
)

// readRecords reads what was printed last as the records of one run in native
// form: records KIND... The kinds are those of the lines in order, with a kind
// that comes several times in a row named once. Nothing but the last line may
// end a run. It sets RUN.
func readRecords(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: records KIND...")
	}
	text, whole := strings.CutSuffix(ts.ReadFile("stdout"), "\n")
	if !whole {
		ts.Fatalf("the last line has no end")
	}
	var kinds []string
	var run string
	var last event.Record
	ended := false
	for line := range strings.SplitSeq(text, "\n") {
		r, err := event.ParseRecord([]byte(line))
		if err != nil || !bytes.Equal(r.AppendJSON(nil), []byte(line)) {
			ts.Fatalf("not a record: %q: %v", line, err)
		}
		spec, known := event.Lookup(r.Kind)
		switch {
		case !known:
			ts.Fatalf("unknown kind: %s", line)
		case ended:
			ts.Fatalf("behind the end: %s", line)
		case r.Seq <= last.Seq || last.Seq > 0 && r.Conversation != last.Conversation:
			ts.Fatalf("record %d of %s after %d of %s", r.Seq, r.Conversation, last.Seq, last.Conversation)
		case spec.Run && run != "" && string(r.Run) != run:
			ts.Fatalf("another run: %s", line)
		}
		if spec.Run {
			run = string(r.Run)
		}
		ended = spec.Terminal
		if r.Kind != last.Kind {
			kinds = append(kinds, string(r.Kind))
		}
		last = r
	}
	if got, want := strings.Join(kinds, " "), strings.Join(args, " "); got != want || !ended {
		ts.Fatalf("got %s, want %s", got, want)
	}
	ts.Setenv("RUN", run)
}
