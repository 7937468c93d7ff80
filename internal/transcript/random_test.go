package transcript_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// TestRandomConversations makes conversations of random commands and stops
// runs at random moments. Each must pass Check; applied again from anywhere,
// each must give the same state; and its facts alone must give the same rows,
// places and statuses.
func TestRandomConversations(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range uint64(40) {
		w := &writer{log: log{t: t}, rnd: rand.New(rand.NewPCG(seed, i))}
		for range 1 + w.rnd.IntN(6) {
			w.command()
		}
		checkRandom(t, w)
		if t.Failed() {
			t.Fatalf("conversation %d of seed %d", i, seed)
		}
	}
}

func checkRandom(t *testing.T, w *writer) {
	records := w.records
	if found := transcript.Check(records); len(found) > 0 {
		t.Errorf("found:\n%s", lines(found))
	}
	whole := fold(t, records)
	if len(whole.Broken) > 0 {
		t.Errorf("broken:\n%s", lines(whole.Broken))
	}
	once := render(whole)
	twice := make([]event.Record, 0, 2*len(records))
	for _, r := range records {
		twice = append(twice, r, r)
	}
	if got := render(fold(t, twice)); got != once {
		t.Errorf("each record twice:\n%s\nonce:\n%s", got, once)
	}
	from := w.rnd.IntN(len(records))
	if got := render(fold(t, slices.Concat(records, records[from:]))); got != once {
		t.Errorf("again from record %d:\n%s\nonce:\n%s", from+1, got, once)
	}
	var stored []event.Record
	for _, r := range records {
		read, err := event.ParseRecord(r.AppendJSON(nil))
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, read)
	}
	if got := render(fold(t, stored)); got != once {
		t.Errorf("from their stored form:\n%s\nas they were made:\n%s", got, once)
	}
	compareOutline(t, whole, fold(t, structural(records)))
	for run, said := range w.said {
		if r := whole.Run(run); r != nil && w.contentOf(r) != said {
			t.Errorf("run %s said %q, its parts say %q", run, said, w.contentOf(r))
		}
	}
}

// writer makes a conversation as an agent would.
type writer struct {
	log
	rnd   *rand.Rand
	users []id.Message
	count int
	said  map[id.Run]string
}

func (w *writer) command() {
	switch n := w.rnd.IntN(10); {
	case n < 5 || len(w.users) == 0:
		w.ask()
	case n < 7:
		w.regenerate()
	case n == 7:
		w.fact(event.MessageDeleted{Message: w.users[w.rnd.IntN(len(w.users))]})
	case n == 8:
		w.fact(event.MessageRestored{Message: w.users[w.rnd.IntN(len(w.users))]})
	default:
		w.choose()
	}
	if w.rnd.IntN(20) == 0 {
		w.fact(event.ConversationDeleted{})
		w.users = nil
	}
	if w.rnd.IntN(10) == 0 {
		w.fact(event.Unknown{Name: "weather", Raw: []byte(`{"sky":"blue"}`)})
	}
}

func (w *writer) next(prefix string) string {
	w.count++
	return fmt.Sprintf("%s_%d", prefix, w.count)
}

func (w *writer) fact(ev event.Event) {
	w.run, w.message = "", ""
	w.add(ev)
}

func (w *writer) ask() {
	user := id.Message(w.next("m"))
	w.fact(event.UserMessage{Message: user, Text: "prompt " + string(user)})
	w.users = append(w.users, user)
	w.message = id.Message(w.next("m"))
	w.attempt(event.Start{Version: 1})
}

func (w *writer) regenerate() {
	user := w.users[w.rnd.IntN(len(w.users))]
	turn := fold(w.t, w.records).Turn(user)
	w.message = turn.Message
	w.attempt(event.Start{Version: len(turn.Runs) + 1, RegenerateOf: user})
}

func (w *writer) choose() {
	turn := fold(w.t, w.records).Turn(w.users[w.rnd.IntN(len(w.users))])
	versions := turn.Versions()
	w.fact(event.VersionActive{Message: turn.Message, Run: versions[w.rnd.IntN(len(versions))].ID})
}

// attempt makes a run and stops it after a random number of events: what is
// open then is closed by Close.
func (w *writer) attempt(start event.Start) {
	w.run = id.Run(w.next("r"))
	w.add(start)
	if w.rnd.IntN(8) == 0 {
		start.Retry = true
		w.add(start)
	}
	m := &model{writer: w}
	for range w.rnd.IntN(25) {
		m.step()
	}
	run := fold(w.t, w.records).Run(w.run)
	causes := []transcript.Cause{transcript.CauseCancelled, transcript.CauseInterrupted, transcript.CauseFailed}
	w.add(transcript.Close(run, causes[w.rnd.IntN(len(causes))])...)
	if w.said == nil {
		w.said = map[id.Run]string{}
	}
	w.said[w.run] = m.said.String()
	chars, hash := transcript.Totals(run)
	w.add(event.Usage{Chars: chars})
	terminals := []event.Event{
		event.End{Finish: event.FinishStop, Chars: chars, SHA256: hash},
		event.Cancelled{By: "owner"},
		event.Error{Type: event.ErrorInternal, Code: event.CodeInterrupted},
		event.Error{Type: event.ErrorNoAnswer},
	}
	w.add(terminals[w.rnd.IntN(len(terminals))])
}

func (w *writer) contentOf(run *transcript.Run) string {
	var all []byte
	for _, p := range run.Parts {
		if p.Kind == transcript.PartText {
			all = append(all, p.Text...)
		}
	}
	return string(all)
}

// model writes the events of one run.
type model struct {
	*writer
	said                    bytes.Buffer
	segments, calls         int
	text, thought           id.Segment
	textBytes, thoughtBytes []byte
	waiting                 id.Approval
	running                 id.Call
}

var pieces = []string{"a", " ", "\n\n", "Hello", "你好", "🌍", "`x`", "\u00a0", "end."}

func (m *model) step() {
	switch m.rnd.IntN(8) {
	case 0, 1, 2:
		m.say()
	case 3:
		m.think()
	case 4:
		m.endThought()
	case 5:
		m.endText()
	case 6:
		m.begin()
	default:
		m.settle()
	}
}

func (m *model) say() {
	if m.text == "" {
		m.segments++
		m.text, m.textBytes = id.SegmentOf(m.segments), nil
	}
	piece := pieces[m.rnd.IntN(len(pieces))]
	m.add(delta(m.text, int64(len(m.textBytes)), piece))
	m.textBytes = append(m.textBytes, piece...)
	m.said.WriteString(piece)
}

func (m *model) think() {
	if m.thought == "" {
		m.segments++
		m.thought, m.thoughtBytes = id.SegmentOf(m.segments), nil
	}
	piece := pieces[m.rnd.IntN(len(pieces))]
	m.add(event.Reasoning{Segment: m.thought, Offset: int64(len(m.thoughtBytes)), Text: piece})
	m.thoughtBytes = append(m.thoughtBytes, piece...)
}

func (m *model) endThought() {
	if m.thought != "" {
		m.add(m.end(m.thought, m.thoughtBytes, event.PhaseReasoning))
		m.thought = ""
	}
}

func (m *model) endText() {
	if m.text != "" {
		m.add(m.end(m.text, m.textBytes, event.PhaseCommentary))
		m.text = ""
	}
}

func (m *model) end(s id.Segment, text []byte, phase event.Phase) event.Event {
	seen := strings.IndexFunc(string(text), func(r rune) bool { return !unicode.IsSpace(r) }) >= 0
	return transcript.EndSegment(&transcript.Part{Segment: s, Text: text, Visible: seen}, phase)
}

func (m *model) begin() {
	if m.running != "" {
		return
	}
	m.endText()
	m.calls++
	c := id.Call(m.next("call"))
	if m.rnd.IntN(2) == 0 {
		m.add(draft(c, m.calls, 0, ""), draft(c, m.calls, 0, "{}"))
	}
	if m.rnd.IntN(4) == 0 {
		m.add(draft(c, m.calls, map[bool]int64{true: 2, false: 0}[m.drafted(c)], "{"))
		return // it never gets beyond its draft
	}
	m.running = c
	m.add(call(c, m.calls))
	if m.rnd.IntN(2) == 0 {
		m.waiting = id.Approval(m.next("a"))
		m.add(event.ApprovalRequest{Approval: m.waiting, Call: c})
	}
}

func (m *model) drafted(c id.Call) bool {
	tool := fold(m.t, m.records).Run(m.run).Tool(c)
	return tool != nil && len(tool.Draft) > 0
}

func (m *model) settle() {
	switch {
	case m.waiting != "":
		m.add(event.ApprovalResolved{Approval: m.waiting, Decision: event.DecisionAllow})
		m.waiting = ""
	case m.running != "":
		m.add(event.ToolProgress{Call: m.running, Note: "1"}, event.ToolResult{Call: m.running, OK: true})
		m.running = ""
	}
}

func BenchmarkFold(b *testing.B) {
	const deltas = 5000
	records := make([]event.Record, 0, deltas+4)
	add := func(ev event.Event, run id.Run, message id.Message) {
		r, err := event.NewRecord("c", run, message, ev)
		if err != nil {
			b.Fatal(err)
		}
		r.Seq = int64(len(records) + 1)
		records = append(records, r)
	}
	add(event.UserMessage{Message: "m_1", Text: "Hi"}, "", "")
	add(event.Start{Version: 1}, "r_1", "m_2")
	for i := range deltas {
		add(delta("s1", int64(8*i), "8 bytes "), "r_1", "m_2")
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := transcript.Fold(records); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(records)), "ns/record")
}
