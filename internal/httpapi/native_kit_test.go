package httpapi

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"

	"verbatim/internal/approval"
	"verbatim/internal/archive"
	"verbatim/internal/blob"
	"verbatim/internal/chat"
	"verbatim/internal/id"
	"verbatim/internal/library"
	"verbatim/internal/turnlog"
)

// native is what the native layer has beside what the compatible one has.
type native struct {
	files   files
	answers answers

	decision approval.Decision
	listed   []library.ListQuery
	page     library.ItemPage
	whole    library.Conversation
	rowPage  library.RowPage
	follow   bool

	models      []Model
	imported    archive.Imported
	importError error
	exportError error
	exportHalf  bool
	body        string // what was imported
}

func (w *world) Page(_ context.Context, q library.ListQuery) (library.ItemPage, error) {
	w.listed = append(w.listed, q)
	if q.Cursor == "bad" {
		return library.ItemPage{}, library.ErrCursor
	}
	return w.page, w.err
}

func (w *world) Item(_ context.Context, c id.Conversation) (library.Item, error) {
	if c != "c1" {
		return library.Item{}, library.ErrMissing
	}
	return library.Item{ID: c, Title: "T", LastSeq: 9}, w.err
}

func (w *world) Conversation(_ context.Context, c id.Conversation) (library.Conversation, error) {
	if c != "c1" {
		return library.Conversation{}, library.ErrMissing
	}
	return w.whole, w.err
}

func (w *world) Messages(_ context.Context, c id.Conversation, before int64, limit int) (library.RowPage, error) {
	if c != "c1" {
		return library.RowPage{}, library.ErrMissing
	}
	return w.rowPage, w.call(fmt.Sprintf("messages %s before %d limit %d", c, before, limit))
}

// Question knows that m_1 answers u_1.
func (w *world) Question(_ context.Context, _ id.Conversation, m id.Message) (id.Message, error) {
	if m != "u_1" && m != "m_1" {
		return "", library.ErrMissing
	}
	return "u_1", w.err
}

// Version knows that r2 is the third version of m_1.
func (w *world) Version(_ context.Context, _ id.Conversation, m id.Message, r id.Run) (int, error) {
	if m != "m_1" || r != "r2" {
		return 0, library.ErrMissing
	}
	return 2, w.err
}

func (w *world) RunStatus(_ context.Context, info turnlog.RunInfo) (library.Run, error) {
	if info.Run == "r_deleted" {
		return library.Run{}, library.ErrMissing
	}
	return library.Run{Run: info.Run, Conversation: info.Conversation, Status: "running"}, nil
}

func (w *world) Schema() []chat.SettingSpec { return chat.SettingTable() }

func (w *world) ServeConversation(rw http.ResponseWriter, _ *http.Request, c id.Conversation, cursor *id.Cursor, follow bool) error {
	w.cursor, w.follow = cursor, follow
	if err := w.call("events " + string(c)); err != nil {
		return err
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	_, err := io.WriteString(rw, "event: start\n\n")
	return err
}

func (w *world) Models(context.Context) ([]Model, error) { return w.models, w.err }

func (w *world) Export(_ context.Context, out io.Writer, conversations []id.Conversation) error {
	if err := w.call(fmt.Sprint("export ", conversations)); err != nil {
		return err
	}
	if w.exportError != nil && !w.exportHalf {
		return w.exportError
	}
	if _, err := io.WriteString(out, "{\"format\":\"verbatim-export\"}\n"); err != nil {
		return err
	}
	return w.exportError
}

func (w *world) Import(_ context.Context, r io.Reader) (archive.Imported, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return archive.Imported{}, err
	}
	w.body = string(b)
	if err := w.call("import"); err != nil {
		return archive.Imported{}, err
	}
	return w.imported, w.importError
}

// files are blobs in memory.
type files struct {
	mu   sync.Mutex
	of   map[string][]byte
	used map[string]bool
	gone []string
	err  error
}

func (f *files) Put(_ context.Context, data []byte) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return "", f.err
	}
	if f.of == nil {
		f.of, f.used = map[string][]byte{}, map[string]bool{}
	}
	name := fmt.Sprintf("b_%026d", len(f.of)+len(f.gone))
	f.of[name] = bytes.Clone(data)
	return name, nil
}

func (f *files) Read(name string, limit int64) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.of[name]
	switch {
	case !ok:
		return nil, blob.ErrMissing
	case int64(len(data)) > limit:
		return nil, blob.ErrTooLarge
	}
	return data, f.err
}

func (f *files) Open(name string) (io.ReadSeekCloser, int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.of[name]
	if !ok {
		return nil, 0, blob.ErrMissing
	}
	return readSeekCloser{bytes.NewReader(data)}, int64(len(data)), f.err
}

type readSeekCloser struct{ io.ReadSeeker }

func (readSeekCloser) Close() error { return nil }

func (f *files) Delete(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.of, name)
	f.gone = append(f.gone, name)
	return f.err
}

func (f *files) BlobInUse(_ context.Context, name string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.used[name], f.err
}

// add puts a file there that a record refers to.
func (f *files) add(data string) string {
	name, _ := f.Put(context.Background(), []byte(data))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used[name] = true
	return name
}

// answers are kept in memory.
type answers struct {
	mu  sync.Mutex
	of  map[string]Answer
	err error // of keeping
}

func (a *answers) Answer(_ context.Context, key string) (Answer, bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok := a.of[key]
	return found, ok, nil
}

func (a *answers) KeepAnswer(_ context.Context, key string, answer Answer) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[string]Answer{}
	}
	if a.err == nil {
		a.of[key] = answer
	}
	return a.err
}
