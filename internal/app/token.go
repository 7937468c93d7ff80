package app

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const tokenName = "token"

// loadToken reads the secret that lets programs in, and makes it when there is
// none. A file that others can read is closed to them; one that is empty or
// short is an error, not a weak secret.
func loadToken(path string) (string, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeToken(path)
	}
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if len(token) < 20 {
		return "", fmt.Errorf("the token in %s is shorter than 20 characters; remove the file and a new one is made", path)
	}
	return token, os.Chmod(path, 0o600)
}

// makeToken writes a new token durably before anybody is told of it.
func makeToken(path string) (string, error) {
	token := "vb_" + strings.ToLower(rand.Text())
	return token, writePrivate(path, []byte(token+"\n"))
}

// writePrivate replaces a file with mode 0600, as a whole and durably.
func writePrivate(path string, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
