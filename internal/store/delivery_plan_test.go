package store

import (
	"database/sql/driver"
	"strings"
	"testing"
)

// What lanes ask goes by indexes: no table is read whole, however much was shown
// in chats. The indexes that may be read whole hold what is not settled only.
func TestChatsAreReadByIndexes(t *testing.T) {
	d, err := Open(t.TempDir(), Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	queries := map[string]string{
		"lane": selectLane, "bound": selectBound, "conversation of a binding": selectMyLane, "post": selectStored,
		"bindings of a lane": selectLeft, "placements of a lane": selectLanePlacements, "unsure": selectUnsure,
		"bindings of a run": selectMeant, "placements of a run": selectOfRun, "a placement": updatePlacement,
		"received": selectKnown, "open messages": selectWaiting, "old messages": pruneInbound, "a blob": selectBlob,
		"posts of runs": blankPosts + ofRunPosts, "posts of records": blankPosts + ofRecords,
		"messages of runs": blankMessages + ofRunMessages, "blobs of runs": selectPostBlobs + " AND " + ofRunPosts,
		"blobs of messages": selectMessageBlobs + " AND " + ofRunMessages,
	}
	few := []string{"placement_files", "inbound_files", "inbound_open", "VIRTUAL TABLE", "CONSTANT ROW", "SCAN (subquery"}
	for name, query := range queries {
		plan := planOf(t, d, query)
		if len(plan) == 0 {
			t.Errorf("%s: no plan", name)
		}
		for _, step := range plan {
			if !strings.HasPrefix(step, "SCAN") {
				continue
			}
			fine := false
			for _, index := range few {
				fine = fine || strings.Contains(step, index)
			}
			if !fine {
				t.Errorf("%s: %s\n%s", name, step, strings.Join(plan, "\n"))
			}
		}
	}
	if plan := strings.Join(planOf(t, d, "SELECT * FROM placement WHERE item = 'x'"), ""); !strings.HasPrefix(plan, "SCAN placement") {
		t.Errorf("a table that is read whole is told by %q", plan)
	}
}

func planOf(t *testing.T, d *DB, query string) (steps []string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	args := make([]driver.Value, 30) // more than any takes
	err := d.writer.each(func(row []driver.Value) (bool, error) {
		steps = append(steps, asText(row[3]))
		return true, nil
	}, "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return steps
}
