package httpapi

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"

	"verbatim/internal/archive"
	"verbatim/internal/id"
)

// Archive writes conversations into a file and reads them back; *archive.Archive
// does.
type Archive interface {
	Export(ctx context.Context, w io.Writer, conversations []id.Conversation) error
	Import(ctx context.Context, r io.Reader) (archive.Imported, error)
}

// MaxImportBytes is the largest file that can be sent to be imported.
const MaxImportBytes = 4 << 30

// exportType is the type of an export: a JSON value a line.
const exportType = "application/jsonl; charset=utf-8"

func (a *API) exportAll(w *reply, e *entry) error { return a.export(w, e, "verbatim", nil) }

func (a *API) exportConversation(w *reply, e *entry) error {
	c, err := a.conversation(w, e)
	if err != nil {
		return err
	}
	return a.export(w, e, string(c), []id.Conversation{c})
}

// export sends a file as it is written. One that can't be written to its end
// must not look whole, so the connection breaks.
func (a *API) export(w *reply, e *entry, name string, conversations []id.Conversation) error {
	h := w.Header()
	h.Set("Content-Type", exportType)
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name + ".jsonl"}))
	h.Set("Cache-Control", "no-store")
	if e.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	err := a.opt.Archive.Export(e.Context(), w, conversations)
	switch {
	case err == nil:
		return nil
	case w.begun():
		if e.Context().Err() == nil {
			a.log.Error("an export broke off", "route", e.route.Path, "err", err)
		}
		panic(http.ErrAbortHandler)
	}
	h.Del("Content-Disposition")
	if errors.Is(err, archive.ErrMissing) {
		return problem(Missing, "There is no chat with this id.")
	}
	return err
}

// importFile takes a file in. Each of its conversations is imported whole or not
// at all, whatever becomes of the others.
func (a *API) importFile(w *reply, e *entry) error {
	body := http.MaxBytesReader(w.ResponseWriter, patient{e.Body, w}, MaxImportBytes)
	got, err := a.opt.Archive.Import(e.Context(), body)
	if got.Conversations == nil {
		got.Conversations = []archive.Outcome{}
	}
	if errors.Is(err, archive.ErrFormat) || errors.Is(err, archive.ErrCut) {
		p := problem(Unfit, sentence(err.Error()))
		return writeBody(w, docOf(Unfit).Status, problemType, struct {
			details
			archive.Imported
		}{newDetails(docOf(Unfit), p, ""), got})
	}
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, got)
}

// patient is a body that may take long, but must go on.
type patient struct {
	io.ReadCloser
	w *reply
}

func (p patient) Read(b []byte) (int, error) {
	setReadDeadline(p.w, BodyTime)
	return p.ReadCloser.Read(b)
}
