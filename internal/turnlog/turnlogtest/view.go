package turnlogtest

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// view is all that a store's indexes say.
type view struct {
	Conversations []turnlog.ConversationInfo
	Unfinished    []turnlog.RunInfo
	Queued        []turnlog.RunInfo
	Doomed        []turnlog.Doomed
	Runs          map[id.Run]turnlog.RunInfo
	Approvals     map[id.Approval]turnlog.ApprovalInfo
}

// look asks a store for what its indexes say of what a book has named. Keys are
// the store's own affair and left out.
func look(t testing.TB, s turnlog.Store, b *book) view {
	t.Helper()
	v := view{Runs: map[id.Run]turnlog.RunInfo{}, Approvals: map[id.Approval]turnlog.ApprovalInfo{}}
	var err [4]error
	v.Conversations, err[0] = s.Conversations(t.Context(), turnlog.Query{})
	v.Unfinished, err[1] = s.Unfinished(t.Context())
	v.Queued, err[2] = s.Queued(t.Context())
	v.Doomed, err[3] = s.Doomed(t.Context())
	if err := errors.Join(err[:]...); err != nil {
		t.Fatal(err)
	}
	for i := range v.Conversations {
		v.Conversations[i].Key = 0
	}
	for _, r := range b.runs {
		info, err := s.Run(t.Context(), r)
		if errors.Is(err, turnlog.ErrNoRun) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		v.Runs[r] = info
	}
	for _, a := range b.approvals {
		info, err := s.Approval(t.Context(), a)
		if errors.Is(err, turnlog.ErrNoApproval) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		v.Approvals[a] = info
	}
	return v
}

// indexed checks that a store's indexes say what its records do.
func indexed(t testing.TB, s turnlog.Store, b *book) {
	t.Helper()
	if d := cmp.Diff(b.view(), look(t, s, b), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("indexes (-by the records +by the store):\n%s", d)
	}
}

// reindexed checks that a store's indexes say the same when built anew.
func reindexed(t testing.TB, subject Subject, s turnlog.Store, b *book) {
	t.Helper()
	before := look(t, s, b)
	if err := subject.Reindex(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, look(t, s, b), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("indexes (-kept +built anew):\n%s", d)
	}
}
