package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"verbatim/internal/agent"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryLog keeps records as the log would. refuse, if set, says which event
// it refuses, and from then on it refuses all.
type memoryLog struct {
	mu      sync.Mutex
	records []event.Record
	refuse  func(event.Event) error
	broken  error
}

func newLog(t *testing.T) *memoryLog {
	t.Helper()
	l := &memoryLog{}
	l.Post("c", []turnlog.Draft{
		{Event: event.UserMessage{Message: "m_1", Text: "hi", Via: event.Via{Surface: "test"}}},
		{Run: "r", Message: "m_2", Event: event.Start{Model: "x", Version: 1}},
	}, nil)
	return l
}

func (l *memoryLog) Post(c id.Conversation, drafts []turnlog.Draft, done func([]event.Record, error)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range drafts {
		if l.refuse != nil && l.broken == nil {
			l.broken = l.refuse(d.Event)
		}
		if l.broken != nil {
			done(nil, l.broken)
			return
		}
		r, err := event.NewRecord(c, d.Run, d.Message, d.Event)
		if err != nil {
			panic(err)
		}
		r.Seq, r.At = int64(len(l.records)+1), time.Unix(1_700_000_000, 0).UTC()
		l.records = append(l.records, r)
	}
	if done != nil {
		done(nil, nil)
	}
}

// model answers round n with the n-th list; an error ends the round.
type model struct {
	rounds [][]any
	asked  []llm.Request
	during func(round, chunk int)
}

func (m *model) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		n := len(m.asked)
		m.asked = append(m.asked, req)
		for i, step := range m.rounds[min(n, len(m.rounds)-1)] {
			if m.during != nil {
				m.during(n, i)
			}
			if ctx.Err() != nil {
				yield(llm.Chunk{}, ctx.Err())
				return
			}
			switch step := step.(type) {
			case error:
				yield(llm.Chunk{}, step)
				return
			case llm.Chunk:
				if !yield(step, nil) {
					return
				}
			}
		}
	}
}

func text(s string) llm.Chunk    { return llm.Chunk{Text: s} }
func thought(s string) llm.Chunk { return llm.Chunk{Reasoning: s} }
func finish(r event.Finish) llm.Chunk {
	return llm.Chunk{Finish: &llm.Finish{Reason: r}}
}

func fragment(index int, id, name, args string) llm.Chunk {
	return llm.Chunk{Tool: &llm.ToolFragment{Index: index, ID: id, Name: name, Args: args}}
}

func job(m llm.Model) agent.Job {
	return agent.Job{Conversation: "c", Run: "r", Message: "m_2", Model: m, ModelName: "test/m"}
}

// perform runs the model's script and returns what a reader of the log sees,
// with the transcript's invariants checked.
func perform(t *testing.T, ctx context.Context, m *model) (*transcript.Run, event.Event) {
	t.Helper()
	log := newLog(t)
	a := &agent.Agent{Log: log}
	terminal, err := a.Do(ctx, job(m))
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return fold(t, log.records), terminal
}

func fold(t *testing.T, records []event.Record) *transcript.Run {
	t.Helper()
	for _, broken := range transcript.Check(records) {
		t.Errorf("broken invariant: %s", broken)
	}
	var c transcript.Conversation
	for _, r := range records {
		if err := c.Apply(r); err != nil {
			t.Fatalf("apply %d: %v", r.Seq, err)
		}
	}
	return c.Turns[0].Runs[0]
}

// shape writes a run's parts on one line.
func shape(r *transcript.Run) string {
	var b strings.Builder
	for _, p := range r.Parts {
		switch {
		case p.Kind == transcript.PartTool && p.Tool.Result != nil:
			b.WriteString("[" + p.Tool.Name + "=" + map[bool]string{true: "ok", false: "failed"}[p.Tool.Result.OK] + "]")
		case p.Kind == transcript.PartTool:
			b.WriteString("[" + p.Tool.Name + "…]")
		default:
			b.WriteString("(" + string(p.Phase) + ":" + string(p.Text) + ")")
		}
	}
	return b.String()
}

func TestRun(t *testing.T) {
	stop := finish(event.FinishStop)
	cut := &llm.Failure{Kind: event.ErrorInternal, Code: event.CodeNetwork, Message: "the stream broke off", Retryable: true}
	for name, tc := range map[string]struct {
		rounds [][]any
		shape  string
		end    string // kind/code or finish of the terminal
	}{
		"text":                     {[][]any{{text("Hel"), text("lo"), stop}}, "(answer:Hello)", "end stop"},
		"reasoning then text":      {[][]any{{thought("a"), thought("b"), text("Hi"), stop}}, "(reasoning:ab)(answer:Hi)", "end stop"},
		"F6 blank between":         {[][]any{{thought("a"), text("\n"), thought("b"), text("Hi"), stop}}, "(reasoning:ab)(answer:\nHi)", "end stop"},
		"F1 reasoning inside text": {[][]any{{text("preface "), thought("secret"), text("answer"), stop}}, "(answer:preface answer)(reasoning:secret)", "end stop"},
		"A5 blank first":           {[][]any{{text("\n\n"), text("Hi"), stop}}, "(answer:\n\nHi)", "end stop"},
		"length":                   {[][]any{{text("Hel"), finish(event.FinishLength)}}, "(answer:Hel)", "end length"},
		"empty":                    {[][]any{{stop}}, "", "error empty/"},
		"blank only":               {[][]any{{text(" \n"), stop}}, "(answer: \n)", "error empty/"},
		"F3 reasoning only":        {[][]any{{thought("hm"), stop}}, "(reasoning:hm)", "error no_answer/reasoning_only"},
		"filtered":                 {[][]any{{finish(event.FinishContentFilter)}}, "", "error internal/content_filter"},
		"A4 broken off":            {[][]any{{text("The port is"), cut}}, "(answer:The port is)", "error internal/network"},
		"C3 text tool text":        {[][]any{{text("Before."), fragment(0, "x", "ls", "{}"), stop}, {text("After."), stop}}, "(commentary:Before.)[ls=failed](answer:After.)", "end stop"},
		"C4 text after a draft":    {[][]any{{text("Creating"), fragment(0, "x", "ls", "{}"), text(" done"), stop}, {text("Ok."), stop}}, "(commentary:Creating)[ls=failed](commentary: done)(answer:Ok.)", "end stop"},
		"G1 two calls interleaved": {[][]any{{fragment(0, "a", "add", `{"a":1`), fragment(1, "b", "mul", `{"a":3`), fragment(0, "", "", `}`), fragment(1, "", "", `}`), stop}, {text("4"), stop}}, "[add=failed][mul=failed](answer:4)", "end stop"},
		"G6 tools, no answer":      {[][]any{{fragment(0, "a", "add", `{}`), stop}, {stop}}, "[add=failed]", "error no_answer/"},
		"A2 failure after a tool":  {[][]any{{fragment(0, "a", "add", `{}`), stop}, {text("Che"), cut}}, "[add=failed](answer:Che)", "error internal/network"},
		"cut while drafting":       {[][]any{{text("Let me"), fragment(0, "a", "add", `{"a`), cut}}, "(commentary:Let me)[add…]", "error internal/network"},
		"endless tools":            {[][]any{{fragment(0, "a", "add", `{}`), stop}}, strings.Repeat("[add=failed]", agent.MaxRounds), "error internal/tool_loop"},
	} {
		t.Run(name, func(t *testing.T) {
			run, terminal := perform(t, t.Context(), &model{rounds: tc.rounds})
			if got := shape(run); got != tc.shape {
				t.Errorf("parts: got %s, want %s", got, tc.shape)
			}
			if got := describe(terminal); got != tc.end {
				t.Errorf("terminal: got %s, want %s", got, tc.end)
			}
			if run.Usage == nil {
				t.Error("a run that asked the model has no usage")
			}
		})
	}
}

func describe(terminal event.Event) string {
	switch e := terminal.(type) {
	case event.End:
		return "end " + string(e.Finish)
	case event.Error:
		return "error " + string(e.Type) + "/" + string(e.Code)
	case event.Cancelled:
		return "cancelled by " + e.By
	}
	return "none"
}

func TestCancelAtEveryChunk(t *testing.T) {
	rounds := [][]any{
		{thought("so"), text("Let me "), text("look."), fragment(0, "a", "ls", `{"p`), fragment(0, "", "", `":1}`), finish(event.FinishStop)},
		{text("Found"), text(" it."), finish(event.FinishStop)},
	}
	causes := map[string]error{
		"cancelled by owner":         &agent.Stop{Terminal: event.Cancelled{By: "owner", Via: event.Via{Surface: "test"}}},
		"error internal/interrupted": nil,
	}
	for want, cause := range causes {
		for round := range rounds {
			for chunk := range rounds[round] {
				ctx, cancel := context.WithCancelCause(t.Context())
				m := &model{rounds: rounds, during: func(r, c int) {
					if r == round && c == chunk {
						cancel(cause)
					}
				}}
				_, terminal := perform(t, ctx, m)
				if got := describe(terminal); got != want {
					t.Errorf("stopped at %d.%d: got %s, want %s", round, chunk, got, want)
				}
			}
		}
	}
}

// A provider's huge delta becomes several events, none of which cuts a
// character, and the text is whole.
func TestHugeDelta(t *testing.T) {
	want := strings.Repeat("你好🌍x", 20_000)
	run, _ := perform(t, t.Context(), &model{rounds: [][]any{{text(want), finish(event.FinishStop)}}})
	if got := run.Content(); got != want {
		t.Errorf("got %d bytes, want %d", len(got), len(want))
	}
}

// What the log holds of a run that it refused to go on with is the beginning
// of what was said, without a hole.
func TestRefusedByTheLog(t *testing.T) {
	full := errors.New("no room")
	var steps []any
	for range 50 {
		steps = append(steps, text("word "))
	}
	log := newLog(t)
	log.refuse = func(e event.Event) error {
		if d, ok := e.(event.Delta); ok && d.Offset == 100 {
			return full
		}
		return nil
	}
	a := &agent.Agent{Log: log}
	_, err := a.Do(t.Context(), job(&model{rounds: [][]any{append(steps, finish(event.FinishStop))}}))
	if !errors.Is(err, full) {
		t.Fatalf("got %v, want the log's refusal", err)
	}
	last := log.records[len(log.records)-1]
	if e, _ := last.Event(); last.Kind != "delta" || e.(event.Delta).Offset != 95 {
		t.Errorf("last record: got %s %s", last.Kind, last.Body)
	}
}

func TestPanicClosesTheRun(t *testing.T) {
	m := &model{rounds: [][]any{{text("Half"), text("never")}}, during: func(_, chunk int) {
		if chunk == 1 {
			panic("provider bug")
		}
	}}
	run, terminal := perform(t, t.Context(), m)
	if shape(run) != "(answer:Half)" || describe(terminal) != "error internal/bug" {
		t.Errorf("got %s, %s", shape(run), describe(terminal))
	}
}

// The next round is told what was said and called, under ids of ours.
func TestNextRound(t *testing.T) {
	m := &model{rounds: [][]any{
		{text("Look. "), fragment(0, "dup", "ls", `{"a":1}`), fragment(1, "dup", "ls", `{`), finish(event.FinishStop)},
		{text("Done."), finish(event.FinishStop)},
	}}
	perform(t, t.Context(), m)
	got := m.asked[1].Messages
	if len(got) != 3 || got[0].Text != "Look. " || len(got[0].Calls) != 2 {
		t.Fatalf("got %+v", got)
	}
	a, b := got[0].Calls[0], got[0].Calls[1]
	if a.ID == b.ID || got[1].Result.ID != a.ID || got[2].Result.ID != b.ID {
		t.Errorf("results don't answer the calls: %+v", got)
	}
}

func TestUsageAddsRounds(t *testing.T) {
	use := func(in, out int64) llm.Chunk {
		return llm.Chunk{Usage: &llm.Usage{Input: in, Output: out, Reasoning: 1, Cached: 2}}
	}
	run, _ := perform(t, t.Context(), &model{rounds: [][]any{
		{text("é"), fragment(0, "a", "ls", `{}`), finish(event.FinishStop), use(7, 5)},
		{text("ok"), finish(event.FinishStop), use(9, 3)},
	}})
	u := run.Usage
	if u.InputTokens != 16 || u.OutputTokens != 8 || u.ReasoningTokens != 2 || u.CachedTokens != 4 || u.Chars != 3 || len(u.Rounds) != 2 || u.Rounds[0].Tools != 1 || u.Rounds[0].TextBytes != 2 {
		t.Errorf("got %+v", u)
	}
}
