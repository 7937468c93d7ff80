package transcript_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

func TestCheckFindsWhatIsBroken(t *testing.T) {
	if found := transcript.Check(goodLog(t)); len(found) > 0 {
		t.Fatalf("the good log is not good:\n%s", lines(found))
	}
	for name, tt := range map[string]struct {
		damage func(*log)
		want   string
	}{
		"G3 a gap of seqs":                   {func(l *log) { l.records[5].Seq++ }, "seq 7 follows 5"},
		"a log without its head":             {func(l *log) { l.records = l.records[1:] }, "seq 2 follows 0"},
		"two conversations":                  {func(l *log) { l.records[5].Conversation = "other" }, "conversation other among those of c"},
		"time that goes back":                {func(l *log) { l.records[5].At = l.records[0].At.Add(-time.Hour) }, "time goes back"},
		"a body that is damaged":             {func(l *log) { l.raw("delta", `{"offset":"x"}`) }, "unreadable"},
		"a fact with a run":                  {func(l *log) { l.edit("title", func(r *event.Record) { r.Run = "r_1" }) }, `run "r_1" and message "" do not fit`},
		"an event without its run":           {func(l *log) { l.edit("usage", func(r *event.Record) { r.Run = "" }) }, `run "" and message "m_2" do not fit`},
		"an event without its message":       {func(l *log) { l.edit("usage", func(r *event.Record) { r.Message = "" }) }, `do not fit`},
		"another run's message":              {func(l *log) { l.edit("usage", func(r *event.Record) { r.Message = "m_9" }) }, "message m_9 is not that of its run"},
		"G4 an event after the terminal":     {func(l *log) { l.after("end", delta("s9", 0, "late")) }, "run r_1 has ended"},
		"G4 two terminals":                   {func(l *log) { l.after("end", event.Cancelled{}) }, "run r_1 has ended"},
		"an event without a start":           {func(l *log) { l.drop("start", 0) }, "run r_1 has not started"},
		"G11 two runs at once":               {func(l *log) { l.drop("end", 0) }, "run r_1 is going on"},
		"a second start that is no retry":    {func(l *log) { l.after("start", event.Start{Version: 1}) }, "a second start of run r_1"},
		"G6 a retry after something came":    {func(l *log) { l.after("reasoning", event.Start{Version: 1, Retry: true}) }, "a second start of run r_1"},
		"G6 a second retry":                  {func(l *log) { l.after("start", event.Start{Retry: true}, event.Start{Retry: true}) }, "a second start of run r_1"},
		"a retry of nothing":                 {func(l *log) { l.set("start", event.Start{Version: 1, Retry: true}) }, "a retry of a run that did not start"},
		"a wrong version":                    {func(l *log) { l.set("start", event.Start{Version: 2}) }, "version 2 is number 1"},
		"a regenerate of nothing":            {func(l *log) { l.nth("start", 1).set(event.Start{Version: 2, RegenerateOf: "m_8"}) }, "message m_8 was never asked"},
		"versions of two messages":           {func(l *log) { l.nth("start", 1).Message = "m_7" }, "versions of one answer are of messages m_2 and m_7"},
		"G6 a message without its start":     {func(l *log) { l.after("user_message", event.Title{Title: "x"}) }, "message m_1 is not followed by the start of its run"},
		"G6 a message at the very end":       {func(l *log) { l.after("title", event.UserMessage{Message: "m_9"}) }, "message m_9 is not followed"},
		"a message whose regenerate follows": {func(l *log) { l.set("start", event.Start{Version: 1, RegenerateOf: "m_1"}) }, "message m_1 is not followed"},
		"a run without a question":           {func(l *log) { l.nth("start", 1).set(event.Start{Version: 2}) }, "run r_2 has no question"},
		"a message id used again":            {func(l *log) { l.after("title", event.UserMessage{Message: "m_1"}) }, `message id "m_1" is used again`},
		"a message inside a run":             {func(l *log) { l.after("reasoning", event.UserMessage{Message: "m_9"}) }, "run r_1 is going on"},
		"a deletion inside a run":            {func(l *log) { l.after("reasoning", event.ConversationDeleted{}) }, "run r_1 is going on"},
		"a choice of no version":             {func(l *log) { l.after("title", event.VersionActive{Message: "m_2", Run: "r_9"}) }, "run r_9 is no version"},
		"G2 a wrong offset":                  {func(l *log) { l.set("delta", delta("s2", 3, "Let me ")) }, "offset 3 in a segment of 0 bytes"},
		"G2 a missing delta":                 {func(l *log) { l.drop("delta", 1) }, "has 7 bytes"},
		"G2 a changed delta":                 {func(l *log) { l.set("delta", delta("s2", 0, "Let us ")) }, "segment s2 has 12 bytes, hash"},
		"an empty delta":                     {func(l *log) { l.set("delta", delta("s2", 0, "")) }, "the text is empty"},
		"empty reasoning":                    {func(l *log) { l.set("reasoning", event.Reasoning{Segment: "s1"}) }, "the text is empty"},
		"G7 a segment left open":             {func(l *log) { l.drop("segment_end", 0) }, "segment s1 is not closed"},
		"a delta on a closed segment":        {func(l *log) { l.after("segment_end", event.Reasoning{Segment: "s1", Offset: 2, Text: "!"}) }, "segment s1 is closed or of another kind"},
		"text in a segment of reasoning":     {func(l *log) { l.after("reasoning", delta("s1", 2, "!")) }, "segment s1 is closed or of another kind"},
		"a segment that ends twice":          {func(l *log) { l.after("segment_end", l.eventOf("segment_end")) }, "segment s1 is not open"},
		"wrong bytes":                        {func(l *log) { l.editEnd(func(e *event.SegmentEnd) { e.Bytes++ }) }, "segment s1 has 2 bytes"},
		"a wrong hash":                       {func(l *log) { l.editEnd(func(e *event.SegmentEnd) { e.SHA256 = "00" }) }, "segment s1 has 2 bytes"},
		"wrongly visible":                    {func(l *log) { l.editEnd(func(e *event.SegmentEnd) { e.Visible = false }) }, "segment s1 has 2 bytes"},
		"a phase of text for reasoning":      {func(l *log) { l.editEnd(func(e *event.SegmentEnd) { e.Phase = event.PhaseAnswer }) }, `phase "answer" does not fit segment s1`},
		"a phase that is none":               {func(l *log) { l.editEnd(func(e *event.SegmentEnd) { e.Phase = "mood" }) }, `phase "mood"`},
		"two open texts":                     {func(l *log) { l.after("delta", delta("s9", 0, "x")) }, "segment s2 is still open"},
		"text open when a tool is drafted":   {func(l *log) { l.swap("tool_drafting", -1) }, "segment s2 is still open"},
		"G7 a call without result":           {func(l *log) { l.drop("tool_result", 0) }, "call call_1 has no result"},
		"a result without call":              {func(l *log) { l.after("tool_result", event.ToolResult{Call: "call_9"}) }, "call call_9 waits for no result"},
		"a second result":                    {func(l *log) { l.after("tool_result", l.eventOf("tool_result")) }, "call call_1 waits for no result"},
		"a call before its draft":            {func(l *log) { l.swap("tool_call", -1) }, "call call_1 was called before"},
		"progress of nothing":                {func(l *log) { l.after("usage", event.ToolProgress{Call: "call_1"}) }, "call call_1 is not running"},
		"a call made twice":                  {func(l *log) { l.after("tool_call", l.eventOf("tool_call")) }, "call call_1 was called before"},
		"a draft after the call":             {func(l *log) { l.after("tool_call", draft("call_1", 1, 2, "x")) }, "call call_1 was called before"},
		"a call id of another run":           {func(l *log) { l.last("delta").after(draft("call_1", 1, 0, "{")) }, "call id call_1 is used in run r_1"},
		"an index that does not rise":        {func(l *log) { l.after("tool_result", draft("call_2", 1, 0, "{")) }, "index 1 of call number 2"},
		"an index that changes":              {func(l *log) { l.after("tool_drafting", draft("call_1", 2, 2, "x")) }, "call call_1 had index 1"},
		"a gap in a draft":                   {func(l *log) { l.after("tool_drafting", draft("call_1", 1, 9, "x")) }, "offset 9 in arguments of 2 bytes"},
		"G7 an approval left open":           {func(l *log) { l.drop("approval_resolved", 0) }, "approval a_1 is not resolved"},
		"a result before the decision":       {func(l *log) { l.swap("tool_result", -1) }, "approval a_1 is pending"},
		"G12 a second decision":              {func(l *log) { l.after("approval_resolved", l.eventOf("approval_resolved")) }, "approval a_1 is not pending"},
		"an approval of no call":             {func(l *log) { l.after("tool_result", event.ApprovalRequest{Approval: "a_2", Call: "call_9"}) }, "call call_9 can't ask"},
		"an approval id used again": {func(l *log) {
			l.after("tool_result", call("call_2", 2), event.ApprovalRequest{Approval: "a_1", Call: "call_2"})
		}, "approval id a_1 is used again"},
		"no usage":          {func(l *log) { l.drop("usage", 0) }, "there is no usage"},
		"two usages":        {func(l *log) { l.after("usage", event.Usage{Chars: 21}) }, "a second usage"},
		"usage of others":   {func(l *log) { l.set("usage", event.Usage{Chars: 20}) }, "usage has 20 chars of 21"},
		"end of others":     {func(l *log) { e := l.eventOf("end").(event.End); e.Chars--; l.set("end", e) }, "the run has 21 chars"},
		"hash of others":    {func(l *log) { e := l.eventOf("end").(event.End); e.SHA256 = "00"; l.set("end", e) }, "the run has 21 chars"},
		"a finish unknown":  {func(l *log) { e := l.eventOf("end").(event.End); e.Finish = "tired"; l.set("end", e) }, `finish "tired"`},
		"an error kind new": {func(l *log) { l.set("error", event.Error{Type: "sad"}) }, `kind "sad"`},
		"an error code new": {func(l *log) { l.set("error", event.Error{Type: "internal", Code: "sad"}) }, `code "sad"`},
	} {
		t.Run(name, func(t *testing.T) {
			l := &log{t: t, records: goodLog(t)}
			tt.damage(l)
			found := transcript.Check(l.records)
			if len(found) == 0 || !strings.Contains(lines(found), tt.want) {
				t.Errorf("want %q, found:\n%s", tt.want, lines(found))
			}
		})
	}
}

func TestCheckIsQuiet(t *testing.T) {
	for name, edit := range map[string]func(*log){
		"while a run goes on":   func(l *log) { l.records = l.records[:6] },
		"after a lone retry":    func(l *log) { l.after("start", event.Start{Version: 1, Retry: true}) },
		"about unknown kinds":   func(l *log) { l.after("delta", event.Unknown{Name: "hologram", Raw: json.RawMessage(`{}`)}) },
		"about a draft alone":   func(l *log) { l.after("tool_result", draft("call_2", 2, 0, "{")) },
		"about facts in a run":  func(l *log) { l.after("delta", event.Title{Title: "x"}) },
		"about erased words":    func(l *log) { l.set("delta", event.Erased{Was: "delta", Bytes: 30}) },
		"about an erased end":   func(l *log) { l.set("end", event.Erased{Was: "end", Bytes: 30}) },
		"before the first word": func(l *log) { l.records = nil },
	} {
		t.Run(name, func(t *testing.T) {
			l := &log{t: t, records: goodLog(t)}
			edit(l)
			if found := transcript.Check(l.records); len(found) > 0 {
				t.Errorf("found:\n%s", lines(found))
			}
		})
	}
}

// goodLog is a turn with everything in it, then a version of its answer that
// fails.
func goodLog(t *testing.T) []event.Record {
	l := &log{t: t}
	l.run, l.message = "", ""
	l.add(event.UserMessage{Message: "m_1", Text: "How full?"})
	l.run, l.message = "r_1", "m_2"
	l.add(
		event.Start{Model: "test/model", Version: 1},
		event.Reasoning{Segment: "s1", Text: "Hm"}, segmentEnd("s1", "Hm", event.PhaseReasoning),
		delta("s2", 0, "Let me "), delta("s2", 7, "look."), segmentEnd("s2", "Let me look.", event.PhaseCommentary),
		draft("call_1", 1, 0, "{}"), call("call_1", 1),
		event.ApprovalRequest{Approval: "a_1", Call: "call_1"}, event.ApprovalResolved{Approval: "a_1", Decision: event.DecisionAllow},
		event.ToolResult{Call: "call_1", OK: true, Output: "40%"},
		delta("s3", 0, "40 % full"), segmentEnd("s3", "40 % full", event.PhaseAnswer),
		event.Usage{Chars: 21}, endOf("Let me look.40 % full"),
	)
	l.run = "r_2"
	l.add(
		event.Start{Version: 2, RegenerateOf: "m_1"}, delta("s1", 0, "40"), segmentEnd("s1", "40", event.PhaseAnswer),
		event.Usage{Chars: 2}, event.Error{Type: event.ErrorInternal, Code: event.CodeNetwork},
	)
	l.run, l.message = "", ""
	l.add(event.Title{Title: "Disk"})
	return l.records
}

func delta(s id.Segment, offset int64, text string) event.Event {
	return event.Delta{Segment: s, Offset: offset, Text: text}
}

func draft(c id.Call, index int, offset int64, args string) event.Event {
	return event.ToolDrafting{Call: c, Index: index, Name: "run_command", Offset: offset, ArgsDelta: args}
}

func call(c id.Call, index int) event.Event {
	return event.ToolCall{Call: c, Index: index, Name: "run_command", Args: json.RawMessage(`{}`)}
}

func segmentEnd(s id.Segment, text string, phase event.Phase) event.Event {
	return transcript.EndSegment(&transcript.Part{Segment: s, Text: []byte(text), Visible: strings.TrimSpace(text) != ""}, phase)
}

func endOf(text string) event.Event {
	run := &transcript.Run{Parts: []*transcript.Part{{Kind: transcript.PartText, Text: []byte(text)}}}
	chars, hash := transcript.Totals(run)
	return event.End{Finish: event.FinishStop, Chars: chars, SHA256: hash}
}

// log is a conversation's records in the making. Each edit numbers them anew.
type log struct {
	t       *testing.T
	records []event.Record
	run     id.Run
	message id.Message
}

func (l *log) record(ev event.Event, run id.Run, message id.Message) event.Record {
	l.t.Helper()
	if spec, known := event.Lookup(ev.Kind()); known && !spec.Run && ev.Kind() != "erased" {
		run, message = "", ""
	}
	r, err := event.NewRecord("c", run, message, ev)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

func (l *log) add(events ...event.Event) {
	for _, ev := range events {
		l.records = append(l.records, l.record(ev, l.run, l.message))
	}
	l.number()
}

func (l *log) number() {
	for i := range l.records {
		l.records[i].Seq = int64(i + 1)
		l.records[i].At = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(time.Duration(i) * time.Second)
	}
}

// place is one of the records.
type place struct {
	*event.Record
	l *log
	i int
}

func (l *log) nth(k event.Kind, n int) place {
	l.t.Helper()
	for i := range l.records {
		if l.records[i].Kind != k {
			continue
		}
		if n == 0 {
			return place{&l.records[i], l, i}
		}
		n--
	}
	l.t.Fatalf("there is no %s", k)
	return place{}
}

func (l *log) last(k event.Kind) place {
	n := 0
	for _, r := range l.records {
		if r.Kind == k {
			n++
		}
	}
	return l.nth(k, n-1)
}

func (p place) set(ev event.Event) {
	seq, at := p.Seq, p.At
	*p.Record = p.l.record(ev, p.Run, p.Message)
	p.Seq, p.At = seq, at
}

func (p place) after(events ...event.Event) {
	l := p.l
	tail := append([]event.Record{}, l.records[p.i+1:]...)
	run, message := p.Run, p.Message
	l.records = l.records[:p.i+1]
	for _, ev := range events {
		l.records = append(l.records, l.record(ev, run, message))
	}
	l.records = append(l.records, tail...)
	l.number()
}

func (l *log) set(k event.Kind, ev event.Event)              { l.nth(k, 0).set(ev) }
func (l *log) after(k event.Kind, events ...event.Event)     { l.nth(k, 0).after(events...) }
func (l *log) edit(k event.Kind, change func(*event.Record)) { change(l.nth(k, 0).Record) }

func (l *log) eventOf(k event.Kind) event.Event {
	ev, err := l.nth(k, 0).Event()
	if err != nil {
		l.t.Fatal(err)
	}
	return ev
}

func (l *log) editEnd(change func(*event.SegmentEnd)) {
	end := l.eventOf("segment_end").(event.SegmentEnd)
	change(&end)
	l.set("segment_end", end)
}

func (l *log) drop(k event.Kind, n int) {
	i := l.nth(k, n).i
	l.records = append(l.records[:i:i], l.records[i+1:]...)
	l.number()
}

// swap moves a record by one place.
func (l *log) swap(k event.Kind, by int) {
	i := l.nth(k, 0).i
	l.records[i], l.records[i+by] = l.records[i+by], l.records[i]
	l.number()
}

// raw gives a record a body as no encoder writes it.
func (l *log) raw(k event.Kind, body string) {
	p := l.nth(k, 0)
	*p.Record = event.Record{Conversation: p.Conversation, Seq: p.Seq, At: p.At, Run: p.Run, Message: p.Message, Kind: k, Body: json.RawMessage(body)}
}
