package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strings"

	"verbatim/internal/attachment"
)

type uploaded struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	MIME    string `json:"mime"`
	Size    int    `json:"size"`
	Expires string `json:"expires_at"`
}

// upload takes one file, which a run can name for a while.
func (a *API) upload(w *reply, e *entry) error {
	name, data, err := readFile(w, e)
	if err != nil {
		return err
	}
	f, err := attachment.Inspect(name, data)
	if err != nil {
		return err
	}
	id, until, err := a.uploads.keep(e.Context(), f)
	if err != nil {
		return refusedBlob(err)
	}
	return writeJSON(w, http.StatusCreated, uploaded{id, f.Name, f.MIME, len(data), until.UTC().Format(timeForm)})
}

// formBytes is what a form may have around its file.
const formBytes = 64 << 10

// readFile reads a file that is the body, or the one file of a form.
func readFile(w *reply, e *entry) (name string, data []byte, err error) {
	kind, params, _ := mime.ParseMediaType(e.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		given, err := queryOf(e).text("name")
		if err != nil {
			return "", nil, err
		}
		if given != nil {
			name = *given
		}
		data, err = readBody(w, e, attachment.MaxBytes)
		return name, data, err
	}
	body := http.MaxBytesReader(w.ResponseWriter, e.Body, attachment.MaxBytes+formBytes)
	form := multipart.NewReader(body, params["boundary"])
	part, err := form.NextPart()
	if err != nil {
		return "", nil, badForm(err)
	}
	if part.FileName() == "" {
		return "", nil, badForm(nil)
	}
	if data, err = io.ReadAll(part); err != nil {
		return "", nil, badForm(err)
	}
	if _, err := form.NextPart(); !errors.Is(err, io.EOF) {
		return "", nil, badForm(err)
	}
	return part.FileName(), data, nil
}

func badForm(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return problem(TooLarge, fmt.Sprintf("The file is larger than %d MiB; attach a smaller file, or a part of it.", attachment.MaxBytes>>20))
	}
	return problem(Invalid, "The form must have one file, whole, and nothing else.")
}

// checkFile is checkContentType for a route whose body is a file, of whatever
// type. What a page of another site can send without being asked first is taken
// from programs, which hold the token, and from pages that say where they are
// from, which the gate has looked at.
func checkFile(e *entry) *Problem {
	if e.Header.Get("Authorization") != "" || e.Header.Get("Origin") != "" {
		return nil
	}
	kind, _, _ := strings.Cut(strings.ToLower(e.Header.Get("Content-Type")), ";")
	switch strings.TrimSpace(kind) {
	case "", "text/plain", "multipart/form-data", "application/x-www-form-urlencoded":
		return problem(ContentType, "A file that comes with the cookie needs an Origin, or a Content-Type such as application/octet-stream.")
	}
	return nil
}

// runFiles reads the files that come with a message: those that the compatible
// layer takes, and uploads. Nothing is stored, and one that is refused refuses the
// message.
func (a *API) runFiles(o object) ([]attachment.File, error) {
	list, err := o.list("attachments")
	if err != nil {
		return nil, err
	}
	if len(list) > attachment.MaxFiles {
		return nil, tooManyFiles()
	}
	var files []attachment.File
	for i, raw := range list {
		f, err := a.runFile(raw, i)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

func tooManyFiles() *Problem {
	return problem(Invalid, fmt.Sprintf("A message takes at most %d files; send the others with the next one.", attachment.MaxFiles))
}

func (a *API) runFile(raw json.RawMessage, i int) (attachment.File, error) {
	given, err := attached(raw, i)
	if err != nil {
		return attachment.File{}, err
	}
	id, there, err := given.text("upload")
	switch {
	case err != nil:
		return attachment.File{}, err
	case !there:
		return given.file(i)
	case given.has("url") || given.has("text"):
		return attachment.File{}, badFile(i)
	}
	return a.uploads.read(id)
}
