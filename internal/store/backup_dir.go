package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// BackupDir is Backup for the database in a directory, whether a process has it
// open or not. It takes no lock and no start number, so the process that has
// it goes on undisturbed. That process itself calls Backup instead: to open and
// close the file a second time would drop its locks.
func BackupDir(ctx context.Context, dir, file string) error {
	path := filepath.Join(dir, databaseName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("back up %s: there is no database; name the data directory with --data", dir)
	}
	if err := checkFile(path); err != nil {
		return fmt.Errorf("back up %s: %w", path, err)
	}
	return (&DB{dir: dir}).Backup(ctx, file)
}
