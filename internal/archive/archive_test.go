package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"verbatim/internal/archive"
	"verbatim/internal/blob"
	"verbatim/internal/event"
	"verbatim/internal/golden"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a data directory with an archive over it.
type place struct {
	*archive.Archive
	read  archive.Log
	log   *turnlog.Log // nil when it is not on the disk
	blobs *blob.Store
}

func newPlace(t testing.TB) *place {
	t.Helper()
	db, err := store.Open(t.TempDir(), store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	log := turnlog.New(db, turnlog.Options{})
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	blobs, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC) }
	return &place{archive.New(archive.Options{Log: log, Blobs: blobs, Now: now}), log, log, blobs}
}

func (p *place) export(t testing.TB, conversations ...id.Conversation) string {
	t.Helper()
	var out bytes.Buffer
	if err := p.Export(t.Context(), &out, conversations); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// imports reads a file and returns its outcomes, one on a line, and the error.
func (p *place) imports(t testing.TB, file string) string {
	t.Helper()
	done, err := p.Import(t.Context(), strings.NewReader(file))
	var b strings.Builder
	for _, o := range done.Conversations {
		fmt.Fprintf(&b, "%s %s %d %s\n", o.ID, o.State, o.Records, o.Reason)
	}
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
	}
	return b.String()
}

// add puts records into the log as they are.
func (p *place) add(t testing.TB, lines string) {
	t.Helper()
	records := parse(t, lines)
	if err := p.read.Import(t.Context(), records[0].Conversation, records); err != nil {
		t.Fatal(err)
	}
}

func parse(t testing.TB, lines string) []event.Record {
	t.Helper()
	var records []event.Record
	for line := range strings.Lines(lines) {
		r, err := event.ParseRecord([]byte(strings.TrimSuffix(line, "\n")))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		records = append(records, r)
	}
	return records
}

func (p *place) records(t testing.TB, c id.Conversation) []event.Record {
	t.Helper()
	var all []event.Record
	for {
		page, err := p.read.After(t.Context(), c, int64(len(all)), turnlog.Limit{})
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

// blobsLeft returns how many blobs there are.
func (p *place) blobsLeft(t testing.TB) int {
	t.Helper()
	all, err := p.blobs.All()
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}

// Export, import, export is byte-identical, with every id kept, for each story
// there is; the second import changes nothing.
func TestRoundTripOfStories(t *testing.T) {
	for _, story := range golden.Stories(t, "../../testdata/transcripts") {
		lines, _ := story.Section("events.jsonl")
		records := parse(t, string(lines))
		if len(transcript.Check(records)) > 0 {
			continue
		}
		t.Run(story.Name, func(t *testing.T) {
			from, to := newPlace(t), newPlace(t)
			from.add(t, string(lines))
			file := from.export(t)
			state, err := transcript.Fold(records)
			if err != nil {
				t.Fatal(err)
			}
			if len(state.Rows()) == 0 {
				if strings.Contains(file, `"open"`) {
					t.Errorf("what has no rows was exported: %s", file)
				}
				return
			}
			c := records[0].Conversation
			closes := state.Open() != nil || len(state.Queue) > 0 && !state.Held
			if got := to.imports(t, file); !strings.HasPrefix(got, string(c)+" imported ") || strings.Count(got, "\n") != 1 {
				t.Fatalf("got %s", got)
			}
			again := to.export(t)
			if !closes && again != file {
				t.Errorf("exported again (-first +second):\n%s", cmp.Diff(file, again))
			}
			after := to.records(t, c)
			if broken := transcript.Check(after); len(broken) > 0 {
				t.Errorf("broken: %v", broken)
			}
			if left, err := to.log.Unfinished(t.Context()); err != nil || len(left) > 0 {
				t.Errorf("runs go on: %v %v", left, err)
			}
			for range 2 {
				if got := to.imports(t, file); got != string(c)+" unchanged 0 \n" {
					t.Errorf("the second import: %s", got)
				}
			}
			if diff := cmp.Diff(len(to.records(t, c)), len(after)); diff != "" {
				t.Errorf("the second import wrote something: %s", diff)
			}
		})
	}
}

const withFiles = `{"conversation":"files","seq":1,"at":"2026-01-02T03:04:05.100Z","event":"user_message","message_id":"m_1","text":"See","attachments":[{"id":"f1","name":"a.bin","mime":"application/octet-stream","size":3,"blob":"b_aaaaaaaaaaaaaaaaaaaaaaaaaa"},{"id":"f2","name":"b.bin","mime":"application/octet-stream","size":0,"blob":"b_bbbbbbbbbbbbbbbbbbbbbbbbbb"}],"via":{"surface":"web"}}
{"conversation":"files","seq":2,"at":"2026-01-02T03:04:05.200Z","event":"start","run_id":"r_f","msg_id":"m_2","model":"test/model","version":1}
{"conversation":"files","seq":3,"at":"2026-01-02T03:04:05.300Z","event":"tool_call","run_id":"r_f","msg_id":"m_2","call_id":"call_1","index":1,"name":"run_command","args":{"command":"ls"},"provider":{"id":"secret-of-the-provider"}}
{"conversation":"files","seq":4,"at":"2026-01-02T03:04:05.400Z","event":"tool_result","run_id":"r_f","msg_id":"m_2","call_id":"call_1","name":"run_command","ok":true,"output":"x","seconds":0.5,"truncated":true,"output_bytes":200000,"blob":"b_cccccccccccccccccccccccccc"}
{"conversation":"files","seq":5,"at":"2026-01-02T03:04:05.500Z","event":"usage","run_id":"r_f","msg_id":"m_2","chars":0,"seconds":1.5,"ttft":0,"input_tokens":7,"output_tokens":5,"reasoning_tokens":0,"cached_tokens":0,"model":"test/model","rounds":[]}
{"conversation":"files","seq":6,"at":"2026-01-02T03:04:05.600Z","event":"error","run_id":"r_f","msg_id":"m_2","kind":"no_answer","code":"","message":"No answer.","retryable":true}
`

func withBlobs(t testing.TB) *place {
	t.Helper()
	p := inMemory(t)
	long := bytes.Repeat([]byte("0123456789"), 20_000)
	for name, data := range map[string][]byte{"b_aaaaaaaaaaaaaaaaaaaaaaaaaa": {0, 255, 10}, "b_bbbbbbbbbbbbbbbbbbbbbbbbbb": {}, "b_cccccccccccccccccccccccccc": long} {
		if err := p.blobs.Import(name, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
	}
	p.add(t, withFiles)
	return p
}

// Files and long outputs come along, and what the provider needs back.
func TestBlobs(t *testing.T) {
	from, to := withBlobs(t), newPlace(t)
	file := from.export(t)
	if got := to.imports(t, file); got != "files imported 6 \n" {
		t.Fatal(got)
	}
	if again := to.export(t); again != file {
		t.Errorf("exported again (-first +second):\n%s", cmp.Diff(file, again))
	}
	got, err := to.blobs.Read("b_cccccccccccccccccccccccccc", 1<<20)
	if err != nil || len(got) != 200_000 {
		t.Errorf("the long output has %d bytes: %v", len(got), err)
	}
	if !strings.Contains(file, "secret-of-the-provider") {
		t.Error("what the provider needs back was left out")
	}
	if err := from.blobs.Delete("b_aaaaaaaaaaaaaaaaaaaaaaaaaa"); err != nil {
		t.Fatal(err)
	}
	third, lossy := inMemory(t), from.export(t)
	if got := third.imports(t, lossy); got != "files imported 6 \n" {
		t.Error(got)
	}
	if third.export(t) != lossy {
		t.Error("a lost blob is not the same lost blob after an import")
	}
}

// A file cut at any line imports nothing of the conversation it is cut in, says
// so, and leaves no blob behind; the whole file then goes on from there.
func TestCut(t *testing.T) {
	from := withBlobs(t)
	from.add(t, `{"conversation":"a","seq":1,"at":"2026-01-02T03:04:05.100Z","event":"user_message","message_id":"m_9","text":"Hi","via":{"surface":"web"}}
{"conversation":"a","seq":2,"at":"2026-01-02T03:04:05.200Z","event":"start","run_id":"r_9","msg_id":"m_8","model":"test/model","version":1}
{"conversation":"a","seq":3,"at":"2026-01-02T03:04:05.600Z","event":"error","run_id":"r_9","msg_id":"m_8","kind":"internal","code":"","message":"No.","retryable":true}
`)
	file := from.export(t)
	lines := strings.SplitAfter(file, "\n")
	endOfA := 5 // after the header
	for n := 1; n < len(lines)-1; n++ {
		for _, more := range []string{"", lines[n][:len(lines[n])/2]} {
			to := inMemory(t)
			done, err := to.Import(t.Context(), strings.NewReader(strings.Join(lines[:n], "")+more))
			if !errors.Is(err, archive.ErrCut) {
				t.Errorf("cut after %d lines: %v, want ErrCut", n, err)
			}
			want := 0
			if n > endOfA {
				want = 3
			}
			if got := len(to.records(t, "a")); got != want {
				t.Errorf("cut after %d lines, a has %d records, want %d; %v", n, got, want, done)
			}
			closed := strings.HasPrefix(lines[n-1], `{"close":"files"`)
			if got := len(to.records(t, "files")); got != 0 && !closed {
				t.Errorf("cut after %d lines, files has %d records", n, got)
			}
			if got := to.blobsLeft(t); got != 0 && !closed {
				t.Errorf("cut after %d lines, %d blobs are left", n, got)
			}
			if got := to.imports(t, file); strings.Contains(got, "refused") || strings.Contains(got, "error") {
				t.Errorf("the whole file after one cut after %d lines: %s", n, got)
			}
		}
	}
}

// What was deleted is in no export, before it is erased and after, and both are
// the same file.
func TestDeleted(t *testing.T) {
	p := newPlace(t)
	for _, story := range golden.Stories(t, "../../testdata/transcripts") {
		if story.Name == "C3-text-tool-text" {
			lines, _ := story.Section("events.jsonl")
			p.add(t, string(lines))
		}
	}
	all := p.records(t, "default")
	question, ok := mustEvent(t, all[0]).(event.UserMessage)
	if !ok {
		t.Fatalf("the story begins with %s", all[0].Kind)
	}
	if _, err := p.log.Append(t.Context(), "default",
		turnlog.Draft{Event: event.UserMessage{Message: "m_keep", Text: "Stays", Via: event.Via{Surface: "web"}}},
		turnlog.Draft{Run: "r_keep", Message: "m_keep2", Event: event.Start{Model: "m", Version: 1}},
		turnlog.Draft{Run: "r_keep", Message: "m_keep2", Event: event.Error{Type: event.ErrorEmpty, Message: "Empty."}},
		turnlog.Draft{Event: event.MessageDeleted{Message: question.Message, Via: event.Via{Surface: "web"}}},
	); err != nil {
		t.Fatal(err)
	}
	before := p.export(t)
	if strings.Contains(before, question.Text) || !strings.Contains(before, "Stays") {
		t.Errorf("the export of a deleted turn:\n%s", before)
	}
	if _, err := p.log.Erase(t.Context(), "default", turnlog.Erasure{Seqs: []int64{1}, Runs: []id.Run{all[1].Run}}); err != nil {
		t.Fatal(err)
	}
	if after := p.export(t); after != before {
		t.Errorf("after the erasure (-before +after):\n%s", cmp.Diff(before, after))
	}
	to := newPlace(t)
	if got := to.imports(t, before); !strings.HasPrefix(got, "default imported") {
		t.Error(got)
	}
	if doomed, err := to.log.Doomed(t.Context()); err != nil || len(doomed) > 0 || to.export(t) != before {
		t.Errorf("after the import: %v %v", doomed, err)
	}
	if _, err := p.log.Append(t.Context(), "default", turnlog.Draft{Event: event.ConversationDeleted{Via: event.Via{Surface: "web"}}}); err != nil {
		t.Fatal(err)
	}
	if got := p.export(t); strings.Contains(got, "default") {
		t.Errorf("a deleted conversation was exported:\n%s", got)
	}
	if err := p.Export(t.Context(), io.Discard, []id.Conversation{"default"}); !errors.Is(err, archive.ErrMissing) {
		t.Errorf("asked for by name: %v, want ErrMissing", err)
	}
	for round := range 3 {
		// It comes back under a new id, with the same words; the same file
		// twice changes nothing; and it can be deleted again.
		got := p.imports(t, before)
		as, rest, _ := strings.Cut(got, " ")
		if !strings.HasPrefix(rest, "imported") || !strings.Contains(rest, "default was deleted here") || as == "default" {
			t.Fatalf("round %d: %s", round, got)
		}
		if again := p.imports(t, before); !strings.HasPrefix(again, as+" unchanged") {
			t.Errorf("round %d, a second time: %s", round, again)
		}
		if out := p.export(t); !strings.Contains(out, "Stays") || strings.Contains(out, question.Text) {
			t.Errorf("round %d: exported:\n%s", round, out)
		}
		if _, err := p.log.Append(t.Context(), id.Conversation(as), turnlog.Draft{Event: event.ConversationDeleted{Via: event.Via{Surface: "web"}}}); err != nil {
			t.Fatal(err)
		}
	}
}

func mustEvent(t testing.TB, r event.Record) event.Event {
	t.Helper()
	e, err := r.Event()
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// An import is stopped by its context, and a log that refuses ends it.
func TestStopped(t *testing.T) {
	file := withBlobs(t).export(t)
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	done, err := p.Import(ctx, strings.NewReader(file))
	if !errors.Is(err, context.Canceled) || len(done.Conversations) != 1 || done.Conversations[0].State != archive.Refused || p.blobsLeft(t) != 0 {
		t.Errorf("got %v and %v, with %d blobs", done, err, p.blobsLeft(t))
	}
}
