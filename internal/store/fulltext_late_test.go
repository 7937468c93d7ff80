package store_test

import (
	"path/filepath"
	"testing"
	"time"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/search"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// While the disk is full a run can be closed without the room that its index
// takes; its words are found once there is room, also after a restart.
func TestIndexAfterAFullDisk(t *testing.T) {
	for name, restart := range map[string]bool{"in one life": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			now := time.Now()
			open := func() (*store.DB, *turnlog.Log) {
				db, err := store.Open(dir, store.Options{BallastBytes: 64 << 10, Now: func() time.Time { return now }})
				if err != nil {
					t.Fatal(err)
				}
				return db, turnlog.New(db, turnlog.Options{})
			}
			db, log := open()
			ask := func(c, m, text string) {
				t.Helper()
				_, err := log.Append(t.Context(), id.Conversation(c), turnlog.Draft{Event: event.UserMessage{Message: id.Message(m), Text: text}})
				if err != nil {
					t.Fatal(err)
				}
			}
			found := func() int {
				t.Helper()
				page, err := db.Search(t.Context(), search.Request{Text: "quagmire", Limit: 10})
				if err != nil {
					t.Fatal(err)
				}
				return len(page.Hits)
			}
			if !db.MakeRoom() {
				t.Fatal("there was no ballast")
			}
			ask("c", "m1", "a quagmire")
			ask("c", "m2", "another quagmire")
			if n := found(); n != 0 {
				t.Errorf("%d texts were indexed while the disk was full", n)
			}
			if restart {
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
				db, log = open() // which makes the ballast again
			}
			now = now.Add(time.Hour)
			if !db.HasRoom() {
				t.Fatal("there is no room again")
			}
			// Each waits for the upkeep behind the one before.
			for _, m := range []string{"m3", "m4", "m5", "m6"} {
				ask("other", m, "nothing")
			}
			if n := found(); n != 2 {
				t.Errorf("%d texts are found, want 2", n)
			}
			if err := log.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
