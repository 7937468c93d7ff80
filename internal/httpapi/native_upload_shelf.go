package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"verbatim/internal/attachment"
)

// UploadLife is how long an upload can be named, MaxUploads how many there are
// at a time. None survives the process.
const (
	UploadLife = time.Hour
	MaxUploads = 256
)

// uploads are the files that no message refers to yet. A message that takes one
// keeps a copy of its own, so that the same request again finds the same file.
// Safe for concurrent use.
type uploads struct {
	blobs Blobs
	now   func() time.Time
	log   *slog.Logger

	mu sync.Mutex
	of map[string]kept // by blob
	// coming counts those whose bytes are being stored.
	coming int
}

type kept struct {
	name  string
	until time.Time
}

func newUploads(blobs Blobs, now func() time.Time, log *slog.Logger) *uploads {
	return &uploads{blobs: blobs, now: now, log: log, of: map[string]kept{}}
}

// keep stores a file and returns its id, which is its blob.
func (u *uploads) keep(ctx context.Context, f attachment.File) (id string, until time.Time, err error) {
	u.sweep()
	u.mu.Lock()
	full := len(u.of)+u.coming >= MaxUploads
	if !full {
		u.coming++
	}
	u.mu.Unlock()
	if full {
		return "", time.Time{}, problem(Limited, fmt.Sprintf("There are %d files already that came in the last hour; send this one with its message instead.", MaxUploads))
	}
	id, err = u.blobs.Put(ctx, f.Data)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.coming--
	if err != nil {
		return "", time.Time{}, err
	}
	until = u.now().Add(UploadLife)
	u.of[id] = kept{f.Name, until}
	return id, until, nil
}

// read returns the file of an upload.
func (u *uploads) read(id string) (attachment.File, error) {
	u.mu.Lock()
	k, ok := u.of[id]
	u.mu.Unlock()
	if !ok || !k.until.After(u.now()) {
		return attachment.File{}, problem(Missing, "There is no upload with this id any more; send the file again.")
	}
	data, err := u.blobs.Read(id, attachment.MaxBytes)
	if err != nil {
		return attachment.File{}, refusedBlob(err)
	}
	return attachment.Inspect(k.name, data)
}

// has reports whether a blob is an upload.
func (u *uploads) has(id string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	k, ok := u.of[id]
	return ok && k.until.After(u.now())
}

// sweep removes those whose time is over.
func (u *uploads) sweep() {
	var over []string
	u.mu.Lock()
	for id, k := range u.of {
		if !k.until.After(u.now()) {
			over = append(over, id)
			delete(u.of, id)
		}
	}
	u.mu.Unlock()
	for _, id := range over {
		if err := u.blobs.Delete(id); err != nil {
			u.log.Warn("an upload can't be removed; the next start does", "err", err)
		}
	}
}
