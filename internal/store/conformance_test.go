package store_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"verbatim/internal/faultfs"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
	"verbatim/internal/turnlog/turnlogtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) { turnlogtest.Run(t, subject(0)) }

// The same with a recent table so small that almost every commit moves rows.
func TestConformanceWhileMoving(t *testing.T) { turnlogtest.Run(t, subject(6)) }

func subject(recentRows int) turnlogtest.Subject {
	return turnlogtest.Subject{
		Open: func(dir string, o turnlogtest.Options) (turnlog.Store, error) {
			options := store.Options{BallastBytes: o.BallastBytes, Now: o.Now, RecentRows: recentRows}
			if o.Disk != nil {
				options.VFS = o.Disk.Name()
			}
			db, err := store.Open(dir, options)
			if err != nil {
				return nil, err
			}
			return db, nil
		},
		NewDisk: func() (turnlogtest.Disk, error) { return faultfs.New() },
		// The lock is on the file, not on its name.
		Unlock: func(dir string) error { return os.Remove(filepath.Join(dir, "lock")) },
		Reindex: func(ctx context.Context, s turnlog.Store) error {
			return s.(*store.DB).Reindex(ctx)
		},
		Backup: func(ctx context.Context, s turnlog.Store, file string) error {
			return s.(*store.DB).Backup(ctx, file)
		},
		Restore: func(ctx context.Context, file, dir string, force bool) error {
			return store.Restore(ctx, file, dir, store.RestoreOptions{Force: force})
		},
		Data:    "verbatim.db",
		Corrupt: store.ErrCorrupt,
		Pending: func(dir string) int64 {
			info, err := os.Stat(filepath.Join(dir, "verbatim.db-wal"))
			if err != nil {
				return 0
			}
			return info.Size()
		},
		PendingBytes: 20 << 20,
		Ballast:      "ballast",
	}
}
