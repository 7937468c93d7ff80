package e2e

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// runs works out what is known of all runs.
func (d *memDisk) runs() map[id.Run]turnlog.RunInfo {
	runs := map[id.Run]turnlog.RunInfo{}
	for c, records := range d.records {
		for _, r := range records {
			if q, ok := d.waited[c][r.Seq]; ok {
				noteQueue(runs, r, q)
			}
			if r.Run != "" {
				noteRun(runs, r)
			}
		}
	}
	return runs
}

func noteQueue(runs map[id.Run]turnlog.RunInfo, r event.Record, q event.Queue) {
	info := runs[q.Run]
	switch q.Op {
	case event.QueueAdd:
		info = turnlog.RunInfo{Run: q.Run, Conversation: r.Conversation, Request: q.Request, Queued: r.Seq}
	case event.QueueEdit:
		info.Request = q.Request
	case event.QueueRemove:
		info.Dropped = r.Seq
	case event.QueueSend, event.QueueHold, event.QueueResume:
		return
	}
	if info.Run != "" {
		runs[q.Run] = info
	}
}

func noteRun(runs map[id.Run]turnlog.RunInfo, r event.Record) {
	info, e, kind := runs[r.Run], mustEvent(r), r.Kind
	info.Run, info.Conversation, info.Message = r.Run, r.Conversation, r.Message
	if stone, ok := e.(event.Erased); ok {
		kind = stone.Was
	}
	if start, ok := e.(event.Start); ok {
		info.Request = start.Request
	}
	if kind == (event.Start{}).Kind() && info.First == 0 {
		info.First = r.Seq
	}
	if spec, _ := event.Lookup(kind); spec.Terminal {
		info.Last = r.Seq
	}
	runs[r.Run] = info
}

func (s *memStore) Run(_ context.Context, r id.Run) (turnlog.RunInfo, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	info, ok := s.disk.runs()[r]
	if !ok {
		return info, turnlog.ErrNoRun
	}
	return info, nil
}

func (s *memStore) Unfinished(context.Context) ([]turnlog.RunInfo, error) {
	return s.runsThat(func(info turnlog.RunInfo) bool { return info.First != 0 && info.Last == 0 })
}

func (s *memStore) Queued(context.Context) ([]turnlog.RunInfo, error) {
	return s.runsThat(func(info turnlog.RunInfo) bool { return info.First == 0 && info.Dropped == 0 })
}

func (s *memStore) runsThat(fit func(turnlog.RunInfo) bool) ([]turnlog.RunInfo, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	out := slices.DeleteFunc(slices.Collect(maps.Values(s.disk.runs())), func(info turnlog.RunInfo) bool { return !fit(info) })
	slices.SortFunc(out, func(a, b turnlog.RunInfo) int {
		return cmp.Or(cmp.Compare(a.Conversation, b.Conversation), cmp.Compare(max(a.First, a.Queued), max(b.First, b.Queued)))
	})
	return out, nil
}

func (s *memStore) Approval(_ context.Context, a id.Approval) (turnlog.ApprovalInfo, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	out := turnlog.ApprovalInfo{}
	for c, records := range s.disk.records {
		for _, r := range records {
			switch e := mustEvent(r).(type) {
			case event.ApprovalRequest:
				if e.Approval == a {
					out = turnlog.ApprovalInfo{Approval: a, Conversation: c, Run: r.Run, Seq: r.Seq}
				}
			case event.ApprovalResolved:
				if e.Approval == a {
					out.Resolved, out.Decision = r.Seq, e.Decision
				}
			}
		}
	}
	if out.Seq == 0 {
		return out, turnlog.ErrNoApproval
	}
	return out, nil
}

func (s *memStore) Conversations(_ context.Context, q turnlog.Query) ([]turnlog.ConversationInfo, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	var out []turnlog.ConversationInfo
	for c, records := range s.disk.records {
		state, err := transcript.Fold(records)
		if err != nil {
			return nil, err
		}
		if rows := len(state.Rows()); rows > 0 {
			out = append(out, turnlog.ConversationInfo{
				Conversation: c, Title: state.Title, Project: state.Project, Rows: rows,
				Updated: state.Updated.UnixMilli(), Queued: len(state.Queue),
			})
		}
	}
	slices.SortFunc(out, func(a, b turnlog.ConversationInfo) int {
		return cmp.Or(cmp.Compare(b.Updated, a.Updated), cmp.Compare(a.Conversation, b.Conversation))
	})
	if q.Limit > 0 {
		out = out[:min(q.Limit, len(out))]
	}
	return out, nil
}

func (s *memStore) Doomed(context.Context) ([]turnlog.Doomed, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	var out []turnlog.Doomed
	for _, records := range s.disk.records {
		out = append(out, doomed(records)...)
	}
	slices.SortStableFunc(out, func(a, b turnlog.Doomed) int { return cmp.Compare(a.At, b.At) })
	return out, nil
}

// doomed follows the deletions of a conversation.
func doomed(records []event.Record) []turnlog.Doomed {
	var out []turnlog.Doomed
	left, last := false, int64(0)
	// here says of each question whether it is shown; hidden are those that
	// went with the last deletion of the whole.
	here, hidden := map[id.Message]bool{}, map[id.Message]bool{}
	spare := func(fit func(turnlog.Doomed) bool) { out = slices.DeleteFunc(out, fit) }
	for _, r := range records {
		d := turnlog.Doomed{Conversation: r.Conversation, Seq: r.Seq, At: r.At.UnixMilli()}
		switch e := mustEvent(r).(type) {
		case event.Erased:
			continue
		case event.ConversationDeleted:
			if left {
				out = append(out, d)
			}
			here, hidden, last = map[id.Message]bool{}, here, r.Seq
			continue
		case event.ConversationRestored:
			spare(func(d turnlog.Doomed) bool { return d.Message == "" && d.Seq == last })
			maps.Copy(here, hidden)
			hidden, last = nil, 0
			continue
		case event.UserMessage:
			here[e.Message] = true
		case event.MessageDeleted:
			if here[e.Message] {
				here[e.Message], d.Message = false, e.Message
				out = append(out, d)
			}
		case event.MessageRestored:
			if shown, known := here[e.Message]; known && !shown {
				here[e.Message] = true
				spare(func(d turnlog.Doomed) bool { return d.Message == e.Message })
			}
		}
		left = true
	}
	return out
}

func (s *memStore) Erase(_ context.Context, c id.Conversation, e turnlog.Erasure) ([]string, error) {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.disk.start != s.start {
		return nil, turnlog.ErrFenced
	}
	records := slices.Clone(s.disk.records[c])
	for i, r := range records {
		if s.disk.named(r, e) {
			if q, ok := s.disk.waited[c][r.Seq]; ok {
				q.Request = ""
				s.disk.waited[c][r.Seq] = q
			}
			stone, err := event.NewRecord(c, r.Run, r.Message, event.Erased{Was: r.Kind, Bytes: int64(len(r.Body))})
			if err != nil {
				return nil, err
			}
			stone.Seq, stone.At = r.Seq, r.At
			records[i] = stone
		}
	}
	s.disk.records[c] = records
	return nil, nil
}

// named reports whether an erasure names a record.
func (d *memDisk) named(r event.Record, e turnlog.Erasure) bool {
	about := r.Run
	switch q := mustEvent(r).(type) {
	case event.Erased:
		return false
	case event.Queue:
		about = q.Run
	case event.ConversationDeleted, event.ConversationRestored:
		return slices.Contains(e.Seqs, r.Seq)
	}
	return r.Seq <= e.Through || slices.Contains(e.Seqs, r.Seq) || about != "" && slices.Contains(e.Runs, about)
}

func (s *memStore) Import(_ context.Context, g turnlog.Group) error {
	s.disk.mu.Lock()
	defer s.disk.mu.Unlock()
	if s.disk.start != s.start {
		return turnlog.ErrFenced
	}
	if len(s.disk.records[g.Conversation]) > 0 {
		return turnlog.ErrExists
	}
	runs := s.disk.runs()
	for _, r := range g.Records {
		if _, used := runs[r.Run]; used && r.Run != "" {
			return turnlog.ErrRunUsed
		}
	}
	for _, r := range g.Records {
		s.disk.add(r)
	}
	return nil
}
