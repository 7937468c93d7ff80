package store_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"verbatim/internal/blob"
	"verbatim/internal/event"
	"verbatim/internal/store"
	"verbatim/internal/turnlog"
)

// A backup is one file, and the files of messages come back with it.
func TestBackupHoldsTheFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db, err := store.Open(dir, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	log := turnlog.New(db, turnlog.Options{})
	files, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	contents := [][]byte{{}, []byte("small"), bytes.Repeat([]byte("0123456789abcdef"), 200_000), nil}
	var attached []event.Attachment
	for _, data := range contents {
		name, err := files.Put(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		attached = append(attached, event.Attachment{ID: "f", Name: "f", MIME: "text/plain", Size: int64(len(data)), Blob: name})
	}
	unused, err := files.Put(t.Context(), []byte("nobody's"))
	if err != nil {
		t.Fatal(err)
	}
	// The last one is gone, as after an erasure in the middle of a backup.
	if err := files.Delete(attached[3].Blob); err != nil {
		t.Fatal(err)
	}
	_, err = log.Append(t.Context(), "c",
		turnlog.Draft{Event: event.UserMessage{Message: "m", Text: "look", Attachments: attached}},
		turnlog.Draft{Run: "r", Message: "a", Event: event.Start{Model: "x", Version: 1}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "copy.db")
	if err := db.Backup(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other")
	for _, force := range []bool{false, true} { // the second finds its files there
		if err := store.Restore(t.Context(), file, other, store.RestoreOptions{Force: force}); err != nil {
			t.Fatal(err)
		}
	}
	back, err := blob.Open(filepath.Join(other, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	for i, data := range contents[:3] {
		got, err := back.Read(attached[i].Blob, 1<<30)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("file %d: %d bytes, %v; want %d", i, len(got), err, len(data))
		}
	}
	for _, name := range []string{attached[3].Blob, unused} {
		if _, err := back.Read(name, 1<<30); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	again, err := store.Open(other, store.Options{BallastBytes: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := again.Check(t.Context()); err != nil {
		t.Errorf("the restored database: %v", err)
	}
}
