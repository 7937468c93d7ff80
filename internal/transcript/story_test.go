package transcript_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/golden"
	"verbatim/internal/transcript"
)

const storyDir = "../../testdata/transcripts"

func TestStories(t *testing.T) {
	for _, story := range golden.Stories(t, storyDir) {
		t.Run(story.Name, func(t *testing.T) {
			records := readRecords(t, story)
			c, err := transcript.Fold(records)
			if err != nil {
				t.Fatal(err)
			}
			story.Compare(t, "state.md", []byte(render(c)))
			if want, ok := story.Section("check.txt"); ok || len(want) > 0 {
				story.Compare(t, "check.txt", []byte(lines(transcript.Check(records))))
				return
			}
			if found := transcript.Check(records); len(found) > 0 || len(c.Broken) > 0 {
				t.Errorf("the story is broken:\n%s%s", lines(found), lines(c.Broken))
			}
		})
	}
}

// TestStoriesJ2Replayed applies each story again from each of its records on.
func TestStoriesJ2Replayed(t *testing.T) {
	for _, story := range golden.Stories(t, storyDir) {
		t.Run(story.Name, func(t *testing.T) {
			records := readRecords(t, story)
			want, err := transcript.Fold(records)
			if err != nil {
				t.Fatal(err)
			}
			for from := range records {
				got, err := transcript.Fold(slices.Concat(records, records[from:]))
				if err != nil {
					t.Fatal(err)
				}
				if render(got) != render(want) {
					t.Fatalf("again from record %d:\n%s\nonce:\n%s", from+1, render(got), render(want))
				}
			}
		})
	}
}

func TestStoriesFromFactsAlone(t *testing.T) {
	for _, story := range golden.Stories(t, storyDir) {
		t.Run(story.Name, func(t *testing.T) {
			records := readRecords(t, story)
			whole, err := transcript.Fold(records)
			if err != nil {
				t.Fatal(err)
			}
			facts, err := transcript.Fold(structural(records))
			if err != nil {
				t.Fatal(err)
			}
			if whole.Open() == nil {
				compareOutline(t, whole, facts)
			}
		})
	}
}

func readRecords(t *testing.T, story *golden.Story) []event.Record {
	t.Helper()
	data, ok := story.Section("events.jsonl")
	if !ok {
		t.Fatal("the story has no events.jsonl")
	}
	var records []event.Record
	for line := range bytes.Lines(data) {
		r, err := event.ParseRecord(bytes.TrimSuffix(line, []byte("\n")))
		if err != nil {
			t.Fatalf("line %d: %v", len(records)+1, err)
		}
		records = append(records, r)
	}
	return records
}

// render writes a state for people to read.
func render(c *transcript.Conversation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\nseq %d, rows: %s%s\n", c.Title, c.Seq, rowList(c), conversationNotes(c))
	if len(c.Queue) > 0 || c.Held {
		b.WriteString("\nqueue" + when(c.Held, ", held") + ":")
		for _, q := range c.Queue {
			fmt.Fprintf(&b, " %s %q", q.Run, q.Message.Text)
		}
		b.WriteString("\n")
	}
	for i, broken := range c.Broken {
		b.WriteString(when(i == 0, "\n") + "broken: " + broken + "\n")
	}
	for _, turn := range c.Turns {
		name := fmt.Sprintf("%s: %q", turn.User.Message, turn.User.Text)
		if turn.User.Message == "" {
			name = "erased"
		}
		fmt.Fprintf(&b, "\n## %s%s\n\n", name, when(turn.Deleted, " (deleted)"))
		for _, run := range turn.Runs {
			renderRun(&b, turn, run)
		}
	}
	return b.String()
}

func rowList(c *transcript.Conversation) string {
	var rows []string
	for i, row := range c.Rows() {
		name := row.Turn.User.Message
		if row.Role == transcript.RoleAssistant {
			name = row.Turn.Message
		}
		rows = append(rows, fmt.Sprintf("%s %s%s", row.Role, name, when(row.Index != i, " at the wrong index")))
	}
	return strings.Join(rows, ", ")
}

func conversationNotes(c *transcript.Conversation) string {
	return when(c.Project != "", ", project "+c.Project) + when(c.Pinned, ", pinned") + when(c.Archived, ", archived") +
		when(c.Model != "", ", model "+c.Model) + when(c.Deleted, ", deleted") + when(c.Forked != nil, ", a fork") +
		when(c.Unknown > 0, fmt.Sprintf(", %d of unknown kinds", c.Unknown)) + when(c.Erased > 0, fmt.Sprintf(", %d erased", c.Erased))
}

func renderRun(b *strings.Builder, turn *transcript.Turn, run *transcript.Run) {
	versions := turn.Versions()
	version := "no version"
	if i := slices.Index(versions, run); i >= 0 {
		version = fmt.Sprintf("version %d of %d", i+1, len(versions))
	}
	fmt.Fprintf(b, "- %s %s%s, %s%s\n", run.ID, run.Status, when(run.Retried, ", retried"), version, when(turn.Active() == run, ", shown"))
	for _, p := range run.Parts {
		renderPart(b, p)
	}
	if run.Usage != nil {
		fmt.Fprintf(b, "  - usage: %d chars, %d rounds\n", run.Usage.Chars, len(run.Usage.Rounds))
	}
	if run.Err != nil {
		fmt.Fprintf(b, "  - error %s%s%s: %q\n", run.Err.Type, when(run.Err.Code != "", " "+string(run.Err.Code)), when(run.Err.Retryable, ", retryable"), run.Err.Message)
	}
	if run.CancelledBy != nil {
		fmt.Fprintf(b, "  - cancelled by %s\n", run.CancelledBy.By)
	}
	if run.End != nil {
		fmt.Fprintf(b, "  - end %s\n", run.End.Finish)
	}
	fmt.Fprintf(b, "  - content: %s\n", quote(run.Content()))
}

func renderPart(b *strings.Builder, p *transcript.Part) {
	if p.Tool != nil {
		renderTool(b, p.Tool)
		return
	}
	phase := string(p.Phase)
	if !p.Closed {
		phase = "open"
	}
	text := quote(string(p.Text))
	if p.Unloaded {
		text = fmt.Sprintf("%d bytes", p.Bytes)
	}
	fmt.Fprintf(b, "  - %s %s %s%s: %s\n", p.Kind, p.Segment, phase, when(!p.Visible, " blank"), text)
}

func renderTool(b *strings.Builder, tool *transcript.Tool) {
	state := "running"
	if tool.Called == nil {
		state = "drafted"
	}
	if tool.Result != nil {
		state = map[bool]string{true: "ok", false: "failed"}[tool.Result.OK] + " " + quote(tool.Result.Output)
	}
	args := ""
	if tool.Called != nil {
		args = " " + tool.Called.Text()
	}
	fmt.Fprintf(b, "  - tool %s #%d %s%s: %s\n", tool.Call, tool.Index, tool.Name, args, state)
	if len(tool.Draft) > 0 {
		fmt.Fprintf(b, "    - drafted: %s\n", quote(string(tool.Draft)))
	}
	if tool.Request != nil {
		decision := "pending"
		if tool.Resolved != nil {
			decision = string(tool.Resolved.Decision)
		}
		fmt.Fprintf(b, "    - approval %s %s: %s\n", tool.Request.Approval, tool.Request.Risk, decision)
	}
	for _, note := range tool.Progress {
		fmt.Fprintf(b, "    - progress: %s\n", quote(note))
	}
}

func quote(s string) string { return string(event.AppendString(nil, s)) }

func when(yes bool, s string) string {
	if yes {
		return s
	}
	return ""
}

func lines(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return strings.Join(list, "\n") + "\n"
}

func structural(records []event.Record) []event.Record {
	var facts []event.Record
	for _, r := range records {
		if spec, ok := event.Lookup(r.Kind); ok && spec.Structural {
			facts = append(facts, r)
		}
	}
	return facts
}

// compareOutline holds that both states agree in all but the text.
func compareOutline(t *testing.T, whole, facts *transcript.Conversation) {
	t.Helper()
	if a, b := rowList(whole), rowList(facts); a != b || whole.Title != facts.Title || !whole.Updated.Equal(facts.Updated) {
		t.Errorf("rows %s, title %q, %s\nfacts alone: %s, %q, %s", a, whole.Title, whole.Updated, b, facts.Title, facts.Updated)
	}
	if len(whole.Turns) != len(facts.Turns) {
		t.Fatalf("%d turns, and %d from facts alone", len(whole.Turns), len(facts.Turns))
	}
	for i, turn := range whole.Turns {
		for j, run := range turn.Runs {
			other := facts.Turns[i].Runs[j]
			a, b := outline(whole, run), outline(facts, other)
			if a != b {
				t.Errorf("%s\nfacts alone: %s", a, b)
			}
		}
	}
}

func outline(c *transcript.Conversation, run *transcript.Run) string {
	user, assistant, versions, active := c.Place(run.ID)
	return fmt.Sprintf("%s %s visible %t rows %s %s versions %d active %d", run.ID, run.Status, run.Visible(), row(user), row(assistant), versions, active)
}

func row(i *int) string {
	if i == nil {
		return "gone"
	}
	return fmt.Sprint(*i)
}
