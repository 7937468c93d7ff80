package archive_test

import (
	"context"
	"testing"
	"time"

	"verbatim/internal/archive"
	"verbatim/internal/blob"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// memory is a log without a disk, which takes what the real one takes of an
// import.
type memory struct {
	all  map[id.Conversation][]event.Record
	runs map[id.Run]bool
}

func (m *memory) After(_ context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error) {
	rest := m.all[c][min(after, int64(len(m.all[c]))):]
	return rest[:min(len(rest), limit.Bounded().Records)], nil
}

func (m *memory) Facts(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error) {
	return m.After(ctx, c, after, limit)
}

func (m *memory) Head(ctx context.Context, c id.Conversation) (int64, error) {
	return int64(len(m.all[c])), ctx.Err()
}

func (m *memory) Conversations(context.Context, turnlog.Query) ([]turnlog.ConversationInfo, error) {
	var infos []turnlog.ConversationInfo
	for c, records := range m.all {
		state, err := transcript.Fold(records)
		if err != nil {
			return nil, err
		}
		if len(state.Rows()) > 0 {
			infos = append(infos, turnlog.ConversationInfo{Conversation: c})
		}
	}
	return infos, nil
}

func (m *memory) Doomed(context.Context) ([]turnlog.Doomed, error) { return nil, nil }

func (m *memory) Import(_ context.Context, c id.Conversation, records []event.Record) error {
	if len(m.all[c]) > 0 {
		return turnlog.ErrExists
	}
	own := map[id.Run]bool{}
	for _, r := range records {
		if m.runs[r.Run] {
			return turnlog.ErrRunUsed
		}
		if r.Run != "" {
			own[r.Run] = true
		}
	}
	for run := range own {
		m.runs[run] = true
	}
	m.all[c] = records
	return nil
}

// inMemory is a place whose log is not on the disk.
func inMemory(t testing.TB) *place {
	t.Helper()
	blobs, err := blob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	log := &memory{all: map[id.Conversation][]event.Record{}, runs: map[id.Run]bool{}}
	now := func() time.Time { return time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC) }
	return &place{archive.New(archive.Options{Log: log, Blobs: blobs, Now: now}), log, nil, blobs}
}
