package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"verbatim/internal/store"
)

func TestBackupDirWhileOpen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db, err := store.Open(dir, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	want := "\"kept\""
	if err := db.SetSetting(t.Context(), "system_prompt", &want); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	if err := store.BackupDir(t.Context(), dir, file); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	if err := store.Restore(t.Context(), file, other, store.RestoreOptions{}); err != nil {
		t.Fatal(err)
	}
	again, err := store.Open(other, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, _, err := again.Setting(t.Context(), "system_prompt"); err != nil || got != want {
		t.Errorf("got %q, %v", got, err)
	}
	if again.Epoch() == db.Epoch() {
		t.Error("the restored database has the epoch of the old one")
	}
	// The directory's owner is not disturbed by the copying.
	if err := db.SetSetting(t.Context(), "model", &want); err != nil {
		t.Error(err)
	}
}

func TestBackupDirWithoutDatabase(t *testing.T) {
	dir := t.TempDir()
	err := store.BackupDir(t.Context(), dir, filepath.Join(dir, "copy.db"))
	if err == nil || !strings.Contains(err.Error(), "there is no database") {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}
