package store_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"verbatim/internal/delivery/deliverytest"
	"verbatim/internal/faultfs"
	"verbatim/internal/id"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// chats is a data directory under the suite of deliveries.
type chats struct {
	dir     string
	options store.Options
	log     *turnlog.Log
}

func (c *chats) Open(t *testing.T) deliverytest.Stores {
	t.Helper()
	// The lock is on the file, not on its name.
	if err := os.RemoveAll(filepath.Join(c.dir, "lock")); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(c.dir, c.options)
	if err != nil {
		t.Fatal(err)
	}
	c.log = logOver(t, db)
	return db
}

func (c *chats) Append(t *testing.T, name id.Conversation, drafts ...turnlog.Draft) {
	t.Helper()
	if _, err := c.log.Append(t.Context(), name, drafts...); err != nil {
		t.Fatal(err)
	}
}

func (c *chats) Erase(t *testing.T, name id.Conversation, what turnlog.Erasure) {
	t.Helper()
	if _, err := c.log.Erase(t.Context(), name, what); err != nil {
		t.Fatal(err)
	}
}

// onDisk is a data directory on real files that spares the syncs.
func onDisk(t *testing.T, now func() time.Time, recentRows int) *chats {
	t.Helper()
	disk, err := faultfs.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return &chats{dir: t.TempDir(), options: store.Options{BallastBytes: -1, VFS: disk.Name(), Now: now, RecentRows: recentRows}}
}

func TestDeliveries(t *testing.T) {
	n := 0
	deliverytest.Run(t, deliverytest.Subject{
		Begin: func(t *testing.T, now func() time.Time) deliverytest.Place {
			// Every other place has a recent table so small that almost every
			// commit moves rows.
			n++
			return onDisk(t, now, []int{0, 6}[n%2])
		},
	})
}
