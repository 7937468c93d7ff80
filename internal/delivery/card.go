package delivery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// How long parts of a card are, in code points. A card is one post on every
// platform: together they stay far below the smallest limit.
const (
	previewChars = 60
	argsChars    = 500
	outputChars  = 700
	quoteChars   = 300
	groupLines   = 12
	groupFull    = 2 // with everything shown
)

// call is a tool's call as a chat sees it.
type call struct {
	id     id.Call
	name   string
	args   json.RawMessage
	result *event.ToolResult
	group  *group
}

// group is the card of calls that came one after the other.
type group struct {
	item  *item
	calls []*call
}

// ask is a request for approval as a chat sees it.
type ask struct {
	item    *item
	run     *show
	request event.ApprovalRequest
	over    bool
	seq     int64
}

// toolCall shows a call: at once where a card can change, else when all that
// were begun are over.
func (s *script) toolCall(r event.Record, run *show, e event.ToolCall) {
	if s.policy.Tools == ShowNothing {
		run.withheld.Tools++
		return
	}
	c := &call{id: e.Call, name: e.Name, args: e.Args}
	run.calls[e.Call] = c
	if !s.live {
		run.open = append(run.open, c)
		return
	}
	g := run.group
	if g == nil || len(run.items) == 0 || run.items[len(run.items)-1] != g.item || len(g.calls) >= s.groupMost() {
		g = &group{item: &item{key: "g:" + string(e.Call), run: run.id, kind: surface.KindTool, card: true, first: r.Seq}}
		run.group = g
		s.add(run, g.item)
	}
	c.group, g.calls = g, append(g.calls, c)
	s.redraw(r, g)
}

func (s *script) toolResult(r event.Record, run *show, e event.ToolResult) {
	c := run.calls[e.Call]
	if c == nil || c.result != nil {
		return
	}
	c.result = &e
	if !s.live {
		for _, o := range run.open {
			if o.result == nil {
				return
			}
		}
		s.flush(r, run)
		return
	}
	s.redraw(r, c.group)
}

// groupMost is how many calls share a card.
func (s *script) groupMost() int {
	if s.policy.Tools == ShowEverything {
		return groupFull
	}
	return groupLines
}

// flush shows the calls that are over, on a surface whose cards don't change.
func (s *script) flush(r event.Record, run *show) {
	for len(run.open) > 0 {
		n := min(len(run.open), s.groupMost())
		g := &group{calls: run.open[:n]}
		g.item = &item{key: "g:" + string(g.calls[0].id), run: run.id, kind: surface.KindTool, card: true, first: r.Seq}
		run.open = run.open[n:]
		s.add(run, g.item)
		s.redraw(r, g)
	}
}

// redraw writes a group's card anew.
func (s *script) redraw(r event.Record, g *group) {
	g.item.closed = true
	var b strings.Builder
	for i := 0; i < len(g.calls); {
		same := 1
		line := s.line(g.calls[i])
		for i+same < len(g.calls) && g.calls[i].result != nil && s.line(g.calls[i+same]) == line {
			same++
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(line)
		if same > 1 {
			fmt.Fprintf(&b, " ×%d", same)
		}
		i += same
	}
	for _, c := range g.calls {
		if c.result == nil {
			g.item.closed = false
		}
	}
	g.item.text = []byte(b.String())
	g.item.touch(r)
}

// line is a call in one line; with everything shown its arguments and output
// follow.
func (s *script) line(c *call) string {
	mark, took := "⏳", ""
	if c.result != nil {
		mark = "✅"
		if !c.result.OK {
			mark = "❌"
		}
		if c.result.Seconds >= 0.1 {
			took = fmt.Sprintf(" · %.1f s", c.result.Seconds)
		}
	}
	head := fmt.Sprintf("%s `%s`", mark, code(c.name))
	if s.policy.Tools != ShowEverything {
		if p := preview(c.args); p != "" {
			head += " " + "`" + code(p) + "`"
		}
		return head + took
	}
	head += took + "\n" + fenced(clip(string(c.args), argsChars))
	if c.result != nil && c.result.Output != "" {
		head += "\n" + fenced(clipTail(c.result.Output, outputChars, c.result.OutputBytes))
	}
	return head
}

// preview is what a person needs to tell calls apart: the first argument.
func preview(args json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(args, &members) != nil || len(members) == 0 {
		return ""
	}
	for _, name := range []string{"command", "path", "url", "pattern"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return clip(oneLine(text), previewChars)
		}
	}
	var line bytes.Buffer
	if json.Compact(&line, args) != nil {
		return ""
	}
	return clip(oneLine(line.String()), previewChars)
}

// approvalRequest shows a request, which stays until it is resolved.
func (s *script) approvalRequest(r event.Record, run *show, e event.ApprovalRequest) {
	it := &item{key: "a:" + string(e.Approval), run: run.id, kind: surface.KindApproval, card: true, closed: true, first: r.Seq}
	reply := ReplyCode(e.Approval)
	text := fmt.Sprintf("🔐 May I run `%s`? Risk %s: %s.\n%s\n", e.Name, e.Risk, strings.TrimSuffix(e.Reason, "."), fenced(clip(string(e.Args), argsChars)))
	if s.buttons {
		for _, d := range []struct {
			label    string
			decision event.Decision
		}{{"Allow", event.DecisionAllow}, {"Always allow", event.DecisionAlways}, {"Deny", event.DecisionDeny}} {
			it.buttons = append(it.buttons, surface.Button{Label: d.label, Data: ButtonData(e.Approval, d.decision)})
		}
	}
	text += fmt.Sprintf("Answer with `/allow %s` or `/deny %s` before %s.", reply, reply, e.ExpiresAt.UTC().Format("15:04:05 UTC"))
	it.text = []byte(text)
	it.touch(r)
	run.waiting++
	s.asks[e.Approval] = &ask{item: it, run: run, request: e}
	s.add(run, it)
}

// approvalResolved changes the request's post where it can be changed, and adds
// a line where it can't.
func (s *script) approvalResolved(r event.Record, e event.ApprovalResolved) {
	a := s.asks[e.Approval]
	if a == nil || a.over {
		return
	}
	a.over, a.seq = true, r.Seq
	a.run.waiting--
	text := []byte(resolution(a.request, e))
	if s.edits {
		a.item.text, a.item.buttons = text, nil
		a.item.touch(r)
		return
	}
	a.item.moot = true
	it := &item{key: a.item.key + ":done", run: a.run.id, kind: surface.KindApproval, card: true, closed: true, text: text, first: r.Seq}
	it.touch(r)
	s.add(a.run, it)
}

func resolution(q event.ApprovalRequest, e event.ApprovalResolved) string {
	what := "`" + code(q.Name) + "`"
	if p := preview(q.Args); p != "" {
		what += " `" + code(p) + "`"
	}
	switch e.Decision {
	case event.DecisionAllow:
		return fmt.Sprintf("🔓 %s allowed by %s.", what, e.By)
	case event.DecisionAlways:
		return fmt.Sprintf("🔓 %s allowed by %s, from now on always.", what, e.By)
	case event.DecisionDeny:
		return fmt.Sprintf("⛔ %s denied by %s.", what, e.By)
	case event.DecisionExpired:
		return fmt.Sprintf("⌛ Nobody decided about %s in time, so it did not run.", what)
	default:
		return fmt.Sprintf("⛔ %s did not run: the answer was stopped first.", what)
	}
}

// quoted is a message from elsewhere in one quoted line.
func quoted(m event.UserMessage) string {
	who := m.Via.Sender
	if who == "" {
		who = m.Via.Surface
	}
	return "> " + who + ": " + clip(oneLine(m.Text), quoteChars)
}

// dress returns what puts reasoning into its form.
func dress(how Reasoning) func(string) string {
	switch how {
	case ReasoningCode:
		return fenced
	case ReasoningBlockquote:
		return func(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }
	default:
		return func(text string) string { return "💭 " + text }
	}
}

// fenced puts text into a fence that is longer than any in it.
func fenced(text string) string {
	longest, n := 2, 0
	for _, c := range text {
		if c != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	fence := strings.Repeat("`", longest+1)
	return fence + "\n" + strings.TrimSuffix(text, "\n") + "\n" + fence
}

// code makes text safe between single backticks.
func code(text string) string { return strings.ReplaceAll(text, "`", "'") }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip shortens text to a number of code points, and says so by an ellipsis.
func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	n := 0
	for i := range text {
		if n == most {
			return text[:i] + "…"
		}
		n++
	}
	return text
}

// clipTail keeps the end, and says how much there was.
func clipTail(text string, most int, whole int64) string {
	n := utf8.RuneCountInString(text)
	if n <= most {
		return text
	}
	for i := range text {
		if n == most {
			return fmt.Sprintf("… the last of %d bytes:\n%s", whole, text[i:])
		}
		n--
	}
	return text
}

// stale says that something happened too long ago to be shown now.
func stale(at, now time.Time, most time.Duration) bool { return most > 0 && now.Sub(at) > most }
