package faultfs_test

import (
	"context"
	"database/sql/driver"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"verbatim/internal/faultfs"
)

// database opens a database on a new disk and returns a way to run statements.
func database(t *testing.T) (*faultfs.Disk, string, func(query string) error) {
	t.Helper()
	disk, err := faultfs.New()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "x.db")
	exec, closing := open(t, path, disk.Name())
	t.Cleanup(func() {
		closing()
		if err := disk.Close(); err != nil {
			t.Error(err)
		}
	})
	return disk, path, exec
}

func open(t *testing.T, path, vfs string) (exec func(string) error, closing func()) {
	t.Helper()
	var d sqlite.Driver
	c, err := d.Open("file:" + path + "?vfs=" + vfs)
	if err != nil {
		t.Fatal(err)
	}
	exec = func(query string) error {
		_, err := c.(driver.ExecerContext).ExecContext(context.Background(), query, nil)
		return err
	}
	return exec, func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const begin = "PRAGMA journal_mode=WAL; PRAGMA synchronous=EXTRA; CREATE TABLE t(a)"

func TestTheJournalMakesTheFilesAgain(t *testing.T) {
	disk, path, exec := database(t)
	must(t, exec(begin))
	must(t, exec("INSERT INTO t VALUES(zeroblob(9000))"))
	dir := t.TempDir()
	must(t, disk.Materialise(dir, faultfs.Cut{After: disk.Len()}))
	for _, name := range []string{"x.db", "x.db-wal"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		want, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		must(t, err)
		if string(got) != string(want) {
			t.Errorf("%s: %d bytes, want %d and the same", name, len(got), len(want))
		}
	}
}

// What was not synced may be gone after a power cut, and what was may not.
func TestAPowerCutTakesOnlyWhatWasNotSynced(t *testing.T) {
	disk, _, exec := database(t)
	must(t, exec(begin))
	must(t, exec("INSERT INTO t VALUES('synced')"))
	must(t, exec("PRAGMA synchronous=OFF"))
	must(t, exec("INSERT INTO t VALUES('lost at times')"))
	lost := 0
	for seed := range uint64(20) {
		dir := t.TempDir()
		must(t, disk.Materialise(dir, faultfs.Cut{After: disk.Len(), Power: true, Seed: seed}))
		wal, err := os.ReadFile(filepath.Join(dir, "x.db-wal"))
		must(t, err)
		if !strings.Contains(string(wal), "synced") {
			t.Errorf("seed %d took what was synced", seed)
		}
		if !strings.Contains(string(wal), "lost at times") {
			lost++
		}
	}
	if lost == 0 || lost == 20 {
		t.Errorf("the unsynced write was lost in %d of 20 cuts", lost)
	}
}

func TestFaults(t *testing.T) {
	cases := []struct {
		name  string
		fault faultfs.Fault
		want  string // in the error
	}{
		{"write", faultfs.Fault{Op: faultfs.Write, Times: 1}, "disk I/O error"},
		{"second write", faultfs.Fault{Op: faultfs.Write, After: 1, Times: 1}, "disk I/O error"},
		{"sync", faultfs.Fault{Op: faultfs.Sync, Times: 1}, "disk I/O error"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			disk, _, exec := database(t)
			must(t, exec(begin))
			before := disk.Count(c.fault.Op)
			disk.Fail(c.fault)
			err := exec("INSERT INTO t VALUES(1)")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			must(t, exec("INSERT INTO t VALUES(2)"))
			if disk.Count(c.fault.Op) <= before {
				t.Error("nothing was counted")
			}
		})
	}
}

func TestQuota(t *testing.T) {
	disk, _, exec := database(t)
	must(t, exec(begin))
	limit := disk.Used() + 20_000
	disk.SetQuota(func() int64 { return limit })
	must(t, exec("INSERT INTO t VALUES(1)"))
	err := exec("INSERT INTO t VALUES(zeroblob(100000))")
	if err == nil || !strings.Contains(err.Error(), "full") {
		t.Errorf("got %v, want a full disk", err)
	}
	if disk.Used() > limit {
		t.Errorf("%d bytes on a disk of %d", disk.Used(), limit)
	}
	disk.SetQuota(nil)
	must(t, exec("INSERT INTO t VALUES(zeroblob(100000))"))
}

func TestCloseRefusesWhileFilesAreOpen(t *testing.T) {
	disk, err := faultfs.New()
	must(t, err)
	exec, closing := open(t, filepath.Join(t.TempDir(), "x.db"), disk.Name())
	must(t, exec(begin))
	if err := disk.Close(); err == nil {
		t.Error("closed under an open database")
	}
	closing()
	must(t, disk.Close())
}
