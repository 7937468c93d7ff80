package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// holding returns the files below a directory that hold a word, in their bytes
// or in their names.
func holding(t testing.TB, dir, word string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(word)) || bytes.Contains([]byte(d.Name()), []byte(word)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Errorf("look through %s: %v", dir, err)
	}
	return files
}

// nowhere fails the test when any file below a directory holds a word.
func nowhere(t testing.TB, dir, word string) {
	t.Helper()
	for _, file := range holding(t, dir, word) {
		t.Errorf("%s holds %s, which was erased", file, word)
	}
}
