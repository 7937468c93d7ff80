package library_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/turnlog"
)

// fakeLog holds one conversation and gives it out a few records at a time.
type fakeLog struct {
	t       *testing.T
	records []event.Record
	lines   []turnlog.ConversationInfo
	piece   int // records a read, all of them if 0
	grow    func(*fakeLog)
	err     error
	reads   int
	asked   []turnlog.Query
	after   map[int64]bool // where text was read from, if not nil
}

func (l *fakeLog) add(run id.Run, msg id.Message, e event.Event) {
	l.t.Helper()
	r, err := event.NewRecord("c1", run, msg, e)
	if err != nil {
		l.t.Fatal(err)
	}
	r.Seq = int64(len(l.records)) + 1
	r.At = time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC).Add(time.Duration(r.Seq) * time.Second)
	l.records = append(l.records, r)
}

func (l *fakeLog) read(after int64, facts bool) ([]event.Record, error) {
	l.reads++
	if l.err != nil {
		return nil, l.err
	}
	if l.grow != nil {
		l.grow(l)
	}
	var out []event.Record
	for _, r := range l.records[min(int(after), len(l.records)):] {
		spec, _ := event.Lookup(r.Kind)
		if facts && !spec.Structural {
			continue
		}
		if out = append(out, r); len(out) == l.piece {
			break
		}
	}
	return out, nil
}

func (l *fakeLog) After(_ context.Context, _ id.Conversation, after int64, _ turnlog.Limit) ([]event.Record, error) {
	if l.after != nil {
		l.after[after] = true
	}
	return l.read(after, false)
}

func (l *fakeLog) Facts(_ context.Context, _ id.Conversation, after int64, _ turnlog.Limit) ([]event.Record, error) {
	return l.read(after, true)
}

func (l *fakeLog) Head(_ context.Context, c id.Conversation) (int64, error) {
	if c != "c1" {
		return 0, nil
	}
	return int64(len(l.records)), nil
}

// Conversations answers as the store does, with lines that are newest first.
func (l *fakeLog) Conversations(_ context.Context, q turnlog.Query) ([]turnlog.ConversationInfo, error) {
	l.asked = append(l.asked, q)
	var out []turnlog.ConversationInfo
	for _, c := range l.lines {
		at := turnlog.Place{Updated: c.Updated, Key: c.Key}
		behind := q.Before == turnlog.Place{} || at.Updated < q.Before.Updated || at.Updated == q.Before.Updated && at.Key < q.Before.Key
		if behind && (q.Limit == 0 || len(out) < q.Limit) {
			out = append(out, c)
		}
	}
	return out, l.err
}

// ask adds a question and the start of its run, answer an answer to it.
func (l *fakeLog) ask(n, text string) {
	l.add("", "", event.UserMessage{Message: id.Message("u" + n), Text: text})
	l.add(id.Run("r"+n), id.Message("m"+n), event.Start{Model: "openai/fake", Version: 1})
}

func (l *fakeLog) say(n, segment, text string, phase event.Phase) {
	run, msg, seg := id.Run("r"+n), id.Message("m"+strings.TrimRight(n, "b")), id.Segment(segment)
	if phase == event.PhaseReasoning {
		l.add(run, msg, event.Reasoning{Segment: seg, Text: text})
	} else {
		l.add(run, msg, event.Delta{Segment: seg, Text: text})
	}
	l.add(run, msg, event.SegmentEnd{Segment: seg, Phase: phase, Bytes: int64(len(text)), Visible: strings.TrimSpace(text) != ""})
}

func (l *fakeLog) end(n string) {
	l.add(id.Run("r"+n), id.Message("m"+strings.TrimRight(n, "b")), event.End{Finish: event.FinishStop, SHA256: "abc"})
}

// chat returns the conversation as it goes over the wire.
func chat(t *testing.T, l *fakeLog) map[string]any {
	t.Helper()
	c, err := library.New(l).Chat(t.Context(), "c1")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var v map[string]any
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func rows(t *testing.T, l *fakeLog) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, m := range chat(t, l)["messages"].([]any) {
		out = append(out, m.(map[string]any))
	}
	return out
}
