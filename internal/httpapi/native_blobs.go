package httpapi

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"verbatim/internal/attachment"
	"verbatim/internal/blob"
)

// Blobs keeps the bytes of files and of long outputs; *blob.Store is one.
type Blobs interface {
	Put(ctx context.Context, data []byte) (string, error)
	Open(blob string) (io.ReadSeekCloser, int64, error)
	Read(blob string, limit int64) ([]byte, error)
	Delete(blob string) error
}

// References tells which blobs something refers to; *store.DB does.
type References interface {
	BlobInUse(ctx context.Context, blob string) (bool, error)
}

// blobPolicy keeps a file that a browser was led to open from doing anything.
const blobPolicy = "default-src 'none'; frame-ancestors 'none'; sandbox"

// getBlob answers with a file that a record refers to, or that was uploaded just
// now: pictures and PDFs as they are, text as text, anything else, and with
// ?download=true everything, as bytes to be saved.
func (a *API) getBlob(w *reply, e *entry) error {
	name, err := a.blobName(e)
	if err != nil {
		return err
	}
	q := queryOf(e)
	save, err := q.is("download", false)
	if err != nil {
		return err
	}
	title, err := q.text("name")
	if err != nil {
		return err
	}
	f, size, err := a.opt.Blobs.Open(name)
	if err != nil {
		return refusedBlob(err)
	}
	defer f.Close()
	shown := view{tag: name, kind: attachment.DownloadType, body: f}
	if !save {
		if shown, err = newView(name, f, size); err != nil {
			return err
		}
	}
	if title != nil {
		shown.name = *title
	}
	shown.serve(w, e)
	return nil
}

// blobName returns the blob that the path names, if people may see it.
func (a *API) blobName(e *entry) (string, error) {
	name := e.parts["id"]
	if !blob.Valid(name) {
		return "", refusedBlob(blob.ErrName)
	}
	if a.uploads.has(name) {
		return name, nil
	}
	used, err := a.opt.References.BlobInUse(e.Context(), name)
	if err == nil && !used {
		err = blob.ErrMissing
	}
	return name, refusedBlob(err)
}

func refusedBlob(err error) error {
	switch {
	case errors.Is(err, blob.ErrMissing), errors.Is(err, blob.ErrName):
		return problem(Missing, "There is no such file; what it came with may have been deleted.")
	case errors.Is(err, blob.ErrFull):
		return problem(Full, "")
	}
	return err
}

// view is how a blob is shown.
type view struct {
	// tag tells copies apart. What a blob holds never changes.
	tag string
	// kind is the type of the bytes as stored; text says that they are to be
	// read as text instead.
	kind string
	text bool
	name string
	body io.ReadSeeker
}

// newView looks into a file that could have come with a message. A larger blob is
// the output of a tool, which is text.
func newView(name string, f io.ReadSeeker, size int64) (view, error) {
	if size > attachment.MaxBytes {
		return view{tag: name, text: true, body: f}, nil
	}
	data, err := io.ReadAll(f)
	if err != nil {
		return view{}, err
	}
	known, err := attachment.Inspect(name, data)
	switch {
	case err != nil:
		// Nothing that a browser could show.
		_, err = f.Seek(0, io.SeekStart)
		return view{tag: name, kind: attachment.DownloadType, body: f}, err
	case known.Kind == attachment.KindText:
		return view{tag: name + "-text", text: true, body: strings.NewReader(known.Text)}, nil
	}
	_, err = f.Seek(0, io.SeekStart)
	return view{tag: name, kind: known.MIME, body: f}, err
}

// serve lets browsers keep a copy and ask each time whether it may still be
// shown: what was deleted is hidden at once.
func (v view) serve(w *reply, e *entry) {
	h := w.Header()
	h.Set("Content-Type", attachment.ContentType(v.kind))
	h.Set("Content-Disposition", attachment.Disposition(v.name, v.kind))
	if v.text {
		h.Set("Content-Type", attachment.ReadingType)
		h.Del("Content-Disposition")
	}
	h.Set("Content-Security-Policy", blobPolicy)
	h.Set("Cache-Control", "private, no-cache")
	h.Set("ETag", `"`+v.tag+`"`)
	http.ServeContent(w, e.Request, "", time.Time{}, v.body)
}
