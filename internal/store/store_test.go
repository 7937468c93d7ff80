package store_test

import (
	"database/sql/driver"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"modernc.org/sqlite"

	"verbatim/internal/store"
)

func mustOpen(t *testing.T, dir string) *store.DB {
	t.Helper()
	db, err := store.Open(dir, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func mode(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "data")
	db := mustOpen(t, dir)
	file := filepath.Join(t.TempDir(), "copy")
	if err := db.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{
		dir: 0o700, filepath.Join(dir, "verbatim.db"): 0o600, filepath.Join(dir, "verbatim.db-wal"): 0o600, file: 0o600,
	} {
		if got := mode(t, path); got != want {
			t.Errorf("%s has mode %o, want %o", filepath.Base(path), got, want)
		}
	}
}

// A second process on a data directory is refused and told what to do.
func TestTheSecondOpeningIsRefused(t *testing.T) {
	dir := t.TempDir()
	first := mustOpen(t, dir)
	_, err := store.Open(dir, store.Options{})
	if !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), "--data") {
		t.Errorf("got %v, want ErrInUse that says what to do", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Error("second close:", err)
	}
	if got := mustOpen(t, dir).Start(); got != 2 {
		t.Errorf("start number %d after a refused opening, want 2", got)
	}
}

// sqliteFile makes a database by hand.
func sqliteFile(t *testing.T, path string, statements string) {
	t.Helper()
	var d sqlite.Driver
	c, err := d.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.(driver.ExecerContext).ExecContext(t.Context(), statements, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatIsNotOursIsRefusedAndLeftAlone(t *testing.T) {
	cases := []struct {
		name       string
		statements string
		want       error
	}{
		{"another program's database", "CREATE TABLE t(a)", store.ErrForeign},
		{"another program's mark", "PRAGMA application_id=7; CREATE TABLE t(a)", store.ErrForeign},
		{"a newer layout", "PRAGMA application_id=0x56657242; PRAGMA user_version=99; CREATE TABLE t(a)", store.ErrNewer},
		{"no layout", "PRAGMA application_id=0x56657242; CREATE TABLE t(a)", store.ErrCorrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "verbatim.db")
			sqliteFile(t, path, c.statements)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if db, err := store.Open(dir, store.Options{BallastBytes: -1}); !errors.Is(err, c.want) {
				t.Errorf("open: got %v, want %v", err, c.want)
				if db != nil {
					db.Close()
				}
			}
			if err := store.Restore(t.Context(), path, filepath.Join(t.TempDir(), "new"), store.RestoreOptions{}); !errors.Is(err, c.want) {
				t.Errorf("restore: got %v, want %v", err, c.want)
			}
			after, err := os.ReadFile(path)
			if err != nil || string(after) != string(before) {
				t.Errorf("the file was changed (%v)", err)
			}
		})
	}
}

// A write-ahead log without its database is all that is left of the data;
// SQLite would delete it.
func TestALoneWriteAheadLogIsKept(t *testing.T) {
	for _, empty := range []bool{false, true} {
		dir := t.TempDir()
		path := filepath.Join(dir, "verbatim.db")
		if empty {
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(path+"-wal", []byte("all that is left"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Open(dir, store.Options{BallastBytes: -1}); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("got %v, want ErrCorrupt", err)
		}
		if left, err := os.ReadFile(path + "-wal"); err != nil || string(left) != "all that is left" {
			t.Errorf("the write-ahead log is gone: %q, %v", left, err)
		}
	}
}

func TestADataDirectoryThatCannotBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, err := store.Open(dir, store.Options{})
		if err == nil || !strings.Contains(err.Error(), "--data") {
			t.Errorf("%s: got %v, want an error that says what to do", filepath.Base(dir), err)
		}
	}
	if os.Geteuid() == 0 {
		t.Skip("root may write to a read-only directory")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(dir, store.Options{}); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("read-only directory: got %v", err)
	}
}

func TestSettings(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	one, two, empty := "1", "2", ""
	if err := db.SetSettings(t.Context(), map[string]*string{"a": &one, "b": &two, "c": &empty}); err != nil {
		t.Fatal(err)
	}
	if err := db.SetSetting(t.Context(), "a", &two); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := db.SetSetting(t.Context(), "b", nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	db = mustOpen(t, dir)
	all, err := db.Settings(t.Context())
	if d := cmp.Diff(map[string]string{"a": "2", "c": ""}, all); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if v, ok, err := db.Setting(t.Context(), "c"); v != "" || !ok || err != nil {
		t.Errorf("c: %q, %v, %v", v, ok, err)
	}
	if v, ok, err := db.Setting(t.Context(), "b"); v != "" || ok || err != nil {
		t.Errorf("b: %q, %v, %v", v, ok, err)
	}
	if err := db.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A live database whose write-ahead log holds part of it is no backup.
func TestRestoreRefusesHalfADatabase(t *testing.T) {
	dir := t.TempDir()
	db := mustOpen(t, dir)
	v := "1"
	if err := db.SetSetting(t.Context(), "a", &v); err != nil {
		t.Fatal(err)
	}
	live := filepath.Join(dir, "verbatim.db")
	err := store.Restore(t.Context(), live, filepath.Join(t.TempDir(), "new"), store.RestoreOptions{})
	if err == nil || !strings.Contains(err.Error(), "backup") {
		t.Errorf("got %v, want a refusal", err)
	}
}

func TestForceKeepsWhatItReplaces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "copy")
	if err := mustOpen(t, t.TempDir()).Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "verbatim.db")
	for name, content := range map[string]string{path: "damaged", path + "-wal": "its log"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.Restore(t.Context(), file, dir, store.RestoreOptions{}); !errors.Is(err, store.ErrExists) {
		t.Errorf("without force: %v, want ErrExists", err)
	}
	if err := store.Restore(t.Context(), file, dir, store.RestoreOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	kept := 0
	aside, err := filepath.Glob(path + "*.before-restore-*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range aside {
		if data, err := os.ReadFile(name); err == nil && (string(data) == "damaged" || string(data) == "its log") {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d of 2 files were kept: %v", kept, aside)
	}
	mustOpen(t, dir)
}
