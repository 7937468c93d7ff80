package transcript_test

import (
	"fmt"
	"strings"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// TestActiveVersion tells a turn as a line: + begins a run, which says words
// unless it is marked silent, and ! chooses one.
func TestActiveVersion(t *testing.T) {
	for story, want := range map[string]string{
		"+a":                    "a of a",
		"+a(silent)":            "a of a",
		"+a +b":                 "b of a b",
		"+a +b(silent)":         "a of a",
		"+a(silent) +b":         "b of b",
		"+a(silent) +b(blank)":  "b of b",
		"+a +b !a":              "a of a b",
		"+a +b !a !b":           "b of a b",
		"+a +b !a +c":           "c of a b c",
		"+a +b !a +c(silent)":   "a of a b",
		"+a +b !a +c +d(blank)": "c of a b c",
		"+a +b(silent) !b":      "a of a",
		"+a +b !a +c !b":        "b of a b c",
	} {
		t.Run(story, func(t *testing.T) {
			c := tell(t, story)
			turn := c.Turns[0]
			var names []string
			for _, run := range turn.Versions() {
				names = append(names, string(run.ID))
			}
			got := string(turn.Active().ID) + " of " + strings.Join(names, " ")
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			_, _, versions, active := c.Place(turn.Runs[0].ID)
			if versions != len(names) || names[active] != string(turn.Active().ID) {
				t.Errorf("place says %d of %d", active, versions)
			}
		})
	}
}

func TestTurnWithoutARun(t *testing.T) {
	l := &log{t: t}
	l.add(event.UserMessage{Message: "m_1", Text: "Hi"})
	c := fold(t, l.records)
	turn := c.Turns[0]
	if turn.Active() != nil || turn.Versions() != nil || len(c.Rows()) != 1 {
		t.Errorf("active %v, versions %v, %d rows", turn.Active(), turn.Versions(), len(c.Rows()))
	}
	if count, active := turn.VersionCount(); count != 1 || active != 0 {
		t.Errorf("%d versions, active %d", count, active)
	}
}

func TestPlaceMovesWithTheRows(t *testing.T) {
	l := turns(t, 3)
	if got := places(t, l); got != "r_1 0 1, r_2 2 3, r_3 4 5" {
		t.Errorf("at first: %s", got)
	}
	l.add(event.MessageDeleted{Message: "m_2"})
	if got := places(t, l); got != "r_1 0 1, r_2 gone gone, r_3 2 3" {
		t.Errorf("after a deletion: %s", got)
	}
	l.add(event.MessageRestored{Message: "m_2"})
	if got := places(t, l); got != "r_1 0 1, r_2 2 3, r_3 4 5" {
		t.Errorf("after it was undone: %s", got)
	}
	l.add(event.ConversationDeleted{})
	if got := places(t, l); got != "r_1 gone gone, r_2 gone gone, r_3 gone gone" {
		t.Errorf("after the conversation was deleted: %s", got)
	}
	c, last := fold(t, l.records), l.records[len(l.records)-1]
	if !c.Deleted || len(c.Rows()) != 0 || c.Title != "" || !c.Updated.Equal(last.At) {
		t.Errorf("deleted %t, %d rows, title %q, updated %s", c.Deleted, len(c.Rows()), c.Title, c.Updated)
	}
}

func TestFindRow(t *testing.T) {
	c := fold(t, turns(t, 2).records)
	for index, want := range map[int]string{-1: "none", 0: "user m_1", 1: "assistant m_1", 2: "user m_2", 3: "assistant m_2", 4: "none"} {
		got := "none"
		if row, ok := c.FindRow(index); ok {
			got = fmt.Sprintf("%s %s", row.Role, row.Turn.User.Message)
		}
		if got != want {
			t.Errorf("row %d is %s, want %s", index, got, want)
		}
	}
}

func TestDefaultTitle(t *testing.T) {
	for name, tt := range map[string]struct{ prompt, want string }{
		"short":         {"Hi", "Hi"},
		"nothing":       {"", ""},
		"line breaks":   {"a\nb\r\nc\rd", "a b c d"},
		"blanks stay":   {"  a ", "  a "},
		"just as long":  {strings.Repeat("你", 48), strings.Repeat("你", 48)},
		"one too long":  {strings.Repeat("🌍", 49), strings.Repeat("🌍", 48)},
		"break at edge": {strings.Repeat("x", 47) + "\r\nmore", strings.Repeat("x", 47) + " "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := transcript.DefaultTitle(tt.prompt); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTitleIsTheFirstPromptUntilSet(t *testing.T) {
	l := turns(t, 2)
	if c := fold(t, l.records); c.Title != "prompt 1" || c.TitleSet {
		t.Errorf("title %q, set %t", c.Title, c.TitleSet)
	}
	l.add(event.Title{Title: ""})
	if c := fold(t, l.records); c.Title != "" || !c.TitleSet {
		t.Errorf("title %q, set %t", c.Title, c.TitleSet)
	}
}

// turns is a log of n answered turns.
func turns(t *testing.T, n int) *log {
	l := &log{t: t}
	for i := range n {
		l.add(event.UserMessage{Message: id.Message(fmt.Sprintf("m_%d", i+1)), Text: fmt.Sprintf("prompt %d", i+1)})
		l.run, l.message = id.Run(fmt.Sprintf("r_%d", i+1)), id.Message(fmt.Sprintf("m_a%d", i+1))
		l.answer(event.Start{Version: 1}, "word")
	}
	return l
}

// answer adds a whole run; no text makes it an empty one.
func (l *log) answer(start event.Start, text string) {
	l.add(start)
	end := event.Event(event.Error{Type: event.ErrorEmpty})
	if text != "" {
		l.add(delta("s1", 0, text), segmentEnd("s1", text, event.PhaseAnswer), event.Usage{})
		end = endOf(text)
	}
	l.add(end)
}

func tell(t *testing.T, story string) *transcript.Conversation {
	l := &log{t: t, message: "m_2"}
	l.add(event.UserMessage{Message: "m_1", Text: "Hi"})
	version := 0
	for _, word := range strings.Fields(story) {
		name, how, _ := strings.Cut(word[1:], "(")
		if word[0] == '!' {
			l.add(event.VersionActive{Message: "m_2", Run: id.Run(name)})
			continue
		}
		version++
		start := event.Start{Version: version, RegenerateOf: "m_1"}
		if version == 1 {
			start.RegenerateOf = ""
		}
		l.run = id.Run(name)
		l.answer(start, map[string]string{"": "words of " + name, "blank)": " \n", "silent)": ""}[how])
	}
	return fold(t, l.records)
}

func places(t *testing.T, l *log) string {
	c := fold(t, l.records)
	var list []string
	for i := range 3 {
		run := id.Run(fmt.Sprintf("r_%d", i+1))
		user, assistant, versions, _ := c.Place(run)
		if versions < 1 {
			t.Errorf("%d versions", versions)
		}
		list = append(list, fmt.Sprintf("%s %s %s", run, row(user), row(assistant)))
	}
	return strings.Join(list, ", ")
}

func fold(t *testing.T, records []event.Record) *transcript.Conversation {
	t.Helper()
	c, err := transcript.Fold(records)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
