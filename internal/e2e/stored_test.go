package e2e

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// openLog opens a data directory that no process uses.
func openLog(t testing.TB, dir string) *turnlog.Log {
	t.Helper()
	db, err := store.Open(dir, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatalf("open what is stored: %v", err)
	}
	return turnlog.New(db, turnlog.Options{})
}

// reader is the part of a log that a test needs.
type reader interface {
	After(ctx context.Context, c id.Conversation, after int64, limit turnlog.Limit) ([]event.Record, error)
}

// readConversation returns all records of a conversation.
func readConversation(t testing.TB, log reader, c id.Conversation) []event.Record {
	t.Helper()
	var all []event.Record
	for {
		records, err := log.After(context.Background(), c, int64(len(all)), turnlog.Limit{})
		if err != nil {
			t.Fatalf("read %s: %v", c, err)
		}
		if len(records) == 0 {
			return all
		}
		all = append(all, records...)
	}
}

// readStored returns the records of conversations in a data directory, and
// checks nothing.
func readStored(t testing.TB, dir string, conversations ...id.Conversation) map[id.Conversation][]event.Record {
	t.Helper()
	log := openLog(t, dir)
	out := map[id.Conversation][]event.Record{}
	for _, c := range conversations {
		out[c] = readConversation(t, log, c)
	}
	if err := log.Close(); err != nil {
		t.Fatalf("close what is stored: %v", err)
	}
	return out
}

// checkRecords fails the test for every broken invariant.
func checkRecords(t testing.TB, c id.Conversation, records []event.Record) {
	t.Helper()
	for _, finding := range transcript.Check(records) {
		t.Errorf("conversation %s: %s", c, finding)
	}
}

// copyDatabase copies the database as a killed process left it, so that it can
// be looked into before the program opens it again. The copy takes no lock and
// moves nothing in the original.
func copyDatabase(t testing.TB, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.Mkdir(to, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"verbatim.db", "verbatim.db-wal"} {
		b, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, file), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return to
}
