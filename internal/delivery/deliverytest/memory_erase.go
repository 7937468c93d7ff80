package deliverytest

import (
	"context"

	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// erased is what was erased of a conversation.
type erased struct {
	runs    map[id.Run]bool
	seqs    map[int64]bool
	through int64
}

// Erase takes the text of what the log erases out of posts and messages, as the
// product's store does in the same transaction. Single records of a run that are
// named by Seqs leave its posts alone here.
func (m *Memory) Erase(ctx context.Context, c id.Conversation, what turnlog.Erasure) error {
	return m.commit(ctx, "Erase", fine, func(d *disk) {
		e := d.erased[c]
		if e == nil {
			e = &erased{runs: map[id.Run]bool{}, seqs: map[int64]bool{}}
			d.erased[c] = e
		}
		for _, r := range what.Runs {
			e.runs[r] = true
		}
		for _, seq := range what.Seqs {
			e.seqs[seq] = true
		}
		e.through = max(e.through, what.Through)
		for _, s := range d.posts {
			if d.isErased(s) {
				s.blank()
			}
		}
		for _, r := range d.inbox.all {
			if d.runErased(r.Run) {
				r.blank()
			}
		}
	})
}

// isErased reports whether what a placement shows was erased.
func (d *disk) isErased(s *spot) bool {
	if s.Run != "" {
		return d.runErased(s.Run)
	}
	b := d.binding(s.Binding)
	if b == nil {
		return false
	}
	e := d.erased[b.Conversation]
	return e != nil && (e.seqs[s.Seq] || s.Seq > 0 && s.Seq <= e.through)
}

// runErased reports whether a run was erased, by name or because it began, or
// waited, in what was.
func (d *disk) runErased(r id.Run) bool {
	if r == "" || len(d.erased) == 0 {
		return false
	}
	info, err := d.Log.Run(context.Background(), r)
	e := d.erased[info.Conversation]
	if err != nil || e == nil {
		return false
	}
	begun := info.First
	if begun == 0 {
		begun = info.Queued
	}
	return e.runs[r] || begun <= e.through
}

func (s *spot) blank() { s.Body, s.Shown, s.Error = nil, "", "" }

func (r *received) blank() { r.Text, r.Files, r.Sender = "", nil, surface.Person{} }
