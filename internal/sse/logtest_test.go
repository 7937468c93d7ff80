package sse

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

const (
	testEpoch        = id.Epoch("e1")
	testConversation = id.Conversation("c_1")
	testRun          = id.Run("r_1")
	testMessage      = id.Message("m_2")
)

// memoryLog is a log of one conversation in memory.
type memoryLog struct {
	mu       sync.Mutex
	records  []event.Record
	watchers map[chan struct{}]bool
	runs     map[id.Run]turnlog.RunInfo
	fail     error
	// reads counts calls of After.
	reads int
}

func newMemoryLog() *memoryLog {
	return &memoryLog{watchers: map[chan struct{}]bool{}, runs: map[id.Run]turnlog.RunInfo{}}
}

func (l *memoryLog) Epoch() id.Epoch { return testEpoch }

func (l *memoryLog) Head(context.Context, id.Conversation) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.records)), l.fail
}

func (l *memoryLog) After(ctx context.Context, _ id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads++
	if l.fail != nil || ctx.Err() != nil {
		return nil, errorsFirst(l.fail, ctx.Err())
	}
	records, bytes := limit.Records, limit.Bytes
	if records == 0 {
		records = turnlog.MaxReadRecords
	}
	if bytes == 0 {
		bytes = turnlog.MaxReadBytes
	}
	to := after
	for to < int64(len(l.records)) && to-after < int64(records) {
		bytes -= len(l.records[to].Body)
		if bytes < 0 && to > after {
			break
		}
		to++
	}
	return l.records[after:to:to], nil
}

func errorsFirst(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *memoryLog) Watch(id.Conversation) *turnlog.Watcher {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := make(chan struct{}, 1)
	l.watchers[c] = true
	return turnlog.NewWatcher(c, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.watchers, c)
	})
}

// add commits events of a run, or of the conversation when run is empty.
func (l *memoryLog) add(run id.Run, events ...event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range events {
		spec, _ := event.Lookup(e.Kind())
		r, err := event.NewRecord(testConversation, "", "", e)
		if err != nil {
			panic(err)
		}
		if stone, ok := e.(runTombstone); ok {
			spec, _ = event.Lookup(stone.Was)
		}
		if spec.Run {
			r.Run, r.Message = run, testMessage
		}
		r.Seq, r.At = int64(len(l.records)+1), time.UnixMilli(1700000000000).UTC()
		l.records = append(l.records, r)
		l.index(r, spec)
	}
	for c := range l.watchers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (l *memoryLog) index(r event.Record, spec event.Spec) {
	if r.Run == "" {
		l.indexQueue(r)
		return
	}
	info := l.runs[r.Run]
	info.Run, info.Conversation, info.Message = r.Run, r.Conversation, r.Message
	if info.First == 0 {
		info.First = r.Seq
	}
	if spec.Terminal {
		info.Last = r.Seq
	}
	l.runs[r.Run] = info
}

func (l *memoryLog) indexQueue(r event.Record) {
	ev, err := r.Event()
	if err != nil {
		panic(err)
	}
	fact, ok := ev.(event.Queue)
	if !ok || fact.Run == "" {
		return
	}
	info := l.runs[fact.Run]
	info.Run, info.Conversation = fact.Run, r.Conversation
	switch fact.Op {
	case event.QueueAdd:
		info.Queued = r.Seq
	case event.QueueRemove:
		info.Dropped = r.Seq
	}
	l.runs[fact.Run] = info
}

func (l *memoryLog) Run(_ context.Context, run id.Run) (turnlog.RunInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	info, ok := l.runs[run]
	if !ok {
		return info, errorsFirst(l.fail, turnlog.ErrNoRun)
	}
	return info, l.fail
}

// erase puts tombstones in the place of the records of a run and of the facts
// of the queue about it; the index stays.
func (l *memoryLog) erase(run id.Run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = slices.Clone(l.records)
	for i, r := range l.records {
		fact, _ := queueFact(r)
		if r.Kind == (event.Erased{}).Kind() || r.Run != run && fact.Run != run {
			continue
		}
		stone, err := event.NewRecord(r.Conversation, r.Run, r.Message, event.Erased{Was: r.Kind, Bytes: int64(len(r.Body))})
		if err != nil {
			panic(err)
		}
		stone.Seq, stone.At = r.Seq, r.At
		l.records[i] = stone
	}
}

func (l *memoryLog) info(run id.Run) turnlog.RunInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs[run]
}

func (l *memoryLog) record(i int) event.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.records[i]
}

func (l *memoryLog) breakReads(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = err
}

// story is a run of every kind of event: reasoning that begins blank, text in
// pieces deltas, a tool with a large output, another run's facts in between.
// The first two events are the question and the start.
func story(pieces int) []event.Event {
	events := []event.Event{
		event.UserMessage{Message: "m_1", Text: "What is on the disk?"},
		event.Start{Model: "script/demo", Version: 1},
		event.Reasoning{Segment: "s1", Offset: 0, Text: " \n"},
		event.Reasoning{Segment: "s1", Offset: 2, Text: "\t"},
		event.Reasoning{Segment: "s1", Offset: 3, Text: "I should look."},
		event.Reasoning{Segment: "s2", Offset: 0, Text: "  "},
		event.Title{Title: "Disk"},
		event.ToolDrafting{Call: "call_1", Index: 1, Name: "list_directory"},
		event.ToolDrafting{Call: "call_1", Index: 1, Name: "list_directory", ArgsDelta: `{"path":"."}`},
		event.ToolCall{Call: "call_1", Index: 1, Name: "list_directory", Args: json.RawMessage(`{"path":"."}`)},
		event.ToolResult{Call: "call_1", Name: "list_directory", OK: true, Output: strings.Repeat("a.txt\n", 2000), OutputBytes: 12000},
	}
	var text strings.Builder
	for i := range pieces {
		piece := pieceOf(i)
		events = append(events, event.Delta{Segment: "s3", Offset: int64(text.Len()), Text: piece})
		text.WriteString(piece)
	}
	sum := sha256.Sum256([]byte(text.String()))
	return append(events,
		event.SegmentEnd{Segment: "s3", Phase: event.PhaseAnswer, Bytes: int64(text.Len()), SHA256: hex.EncodeToString(sum[:]), Visible: true},
		event.Usage{Chars: int64(utf8.RuneCountInString(text.String())), Model: "script/demo"},
		event.End{Finish: event.FinishStop, Chars: int64(utf8.RuneCountInString(text.String())), SHA256: hex.EncodeToString(sum[:])},
	)
}

func pieceOf(i int) string {
	pieces := []string{" ", "wörd\n", "你好 ", "<b>&\"\\", "\n\n", "🌍 data: x\n", "\u2028 ", "\x01plain"}
	return fmt.Sprintf("%s%d", pieces[i%len(pieces)], i)
}

// whole returns the frames of a run as one encoder makes them.
func (l *memoryLog) whole(t testing.TB, run id.Run) []string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	enc := NewEncoder(testEpoch, run, nil)
	var frames []string
	for _, r := range l.records[begins(l.runs[run]):] {
		b, _, err := enc.Encode(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > 0 {
			frames = append(frames, string(b))
		}
	}
	return frames
}

func quietLogger() *slog.Logger { return slog.New(slog.DiscardHandler) }
