package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"verbatim/internal/surface"
)

const (
	// maxTextBytes is the longest text of a message.
	maxTextBytes = 1 << 20
	// maxNameBytes is the longest id, thread and sender.
	maxNameBytes = 512
	// noThread is the chat of messages that name no thread.
	noThread = "default"
)

// check returns an error that names the path that can't be one.
func (p paths) check() error {
	for _, m := range []struct{ name, path string }{{"id", p.ID}, {"text", p.Text}, {"thread", p.Thread}, {"sender", p.Sender}} {
		if m.path != "" && (strings.Contains("."+m.path+".", "..") || !utf8.ValidString(m.path)) {
			return fmt.Errorf("map.%s is %q; write a path as names with dots between them, such as issue.title", m.name, m.path)
		}
	}
	return nil
}

// foreign reports whether the body is one that was not made for us.
func (p paths) foreign() bool { return p != paths{} }

// message makes one of a body whose signature is right.
func (h *hook) message(r *http.Request, body []byte, claim proof) (*surface.Message, error) {
	all, err := decode(r.Header.Get("Content-Type"), body, claim.payload)
	if err != nil {
		return nil, err
	}
	f := &fields{all: all, foreign: h.paths.foreign()}
	m := &surface.Message{
		ID:     f.text("id", h.paths.ID, maxNameBytes),
		Text:   f.text("text", h.paths.Text, maxTextBytes),
		At:     h.now(),
		Direct: true,
		Signed: true,
	}
	thread, sender := f.text("thread", h.paths.Thread, maxNameBytes), f.text("sender", h.paths.Sender, maxNameBytes)
	if !f.foreign {
		m.Files = f.files()
	}
	if claim.name != nil && h.paths.ID == "" {
		m.ID = claim.name(body)
	}
	switch {
	case f.err != nil:
		return nil, f.err
	case m.ID == "":
		return nil, invalid("%s is missing; it names the message for ever, and is the same when the message is sent again", f.where("id", h.paths.ID))
	case strings.TrimSpace(m.Text) == "" && len(m.Files) == 0:
		return nil, invalid("%s is missing, so there is nothing to answer", f.where("text", h.paths.Text))
	}
	if thread == "" {
		thread = noThread
	}
	m.Chat = surface.Chat{ID: thread}
	m.Sender = surface.Person{ID: sender, Name: sender}
	m.Fields = map[string]string{"id": m.ID, "thread": thread, "sender": sender}
	return m, nil
}

func invalid(format string, args ...any) *problem {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...) + "; nothing was taken"}
}

// decode returns the members of a body: of JSON, or of a form. With payload set a
// form holds all of them as JSON in its member of that name.
func decode(contentType string, body []byte, payload string) (map[string]any, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	switch {
	case err == nil && (kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")):
		return decodeJSON(body)
	case err != nil || kind != "application/x-www-form-urlencoded":
		return nil, &problem{http.StatusUnsupportedMediaType, "the content type must be application/json or application/x-www-form-urlencoded"}
	}
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, invalid("the body is not a form")
	}
	if payload != "" && form.Has(payload) {
		return decodeJSON([]byte(form.Get(payload)))
	}
	all := map[string]any{}
	for name, values := range form {
		if !utf8.ValidString(values[0]) {
			return nil, invalid("%q is not in UTF-8", name)
		}
		all[name] = values[0]
	}
	return all, nil
}

func decodeJSON(body []byte) (map[string]any, error) {
	// The decoder would put another character in place of what is not UTF-8.
	if !utf8.Valid(body) {
		return nil, invalid("the body is not in UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil || all == nil {
		return nil, invalid("the body is not an object of JSON")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, invalid("the body has something after its JSON")
	}
	return all, nil
}

// fields reads parts of a message and keeps the first thing that is wrong.
type fields struct {
	all     map[string]any
	foreign bool
	err     error
}

// where names a member for its sender.
func (f *fields) where(name, path string) string {
	if path == "" {
		return name
	}
	return fmt.Sprintf("%s (at %s)", name, path)
}

// text returns what stands at a path, or under the name where there is no path:
// text, or a number or truth value as it is written. It is empty for nothing, and
// for what a body that was not made for us holds under a name by chance.
func (f *fields) text(name, path string, maxBytes int) string {
	value, ok := lookup(f.all, path)
	if path == "" {
		value, ok = f.all[name]
	}
	if !ok || value == nil {
		return ""
	}
	text, ok := written(value)
	switch {
	case !ok && f.foreign && path == "":
		return ""
	case !ok:
		f.fail(invalid("%s must be text", f.where(name, path)))
	case len(text) > maxBytes:
		f.fail(&problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("%s is longer than %d bytes; nothing was taken", f.where(name, path), maxBytes)})
	}
	return text
}

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
}

func written(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	default:
		return "", false
	}
}

// lookup follows a dotted path; a number in it counts the items of a list from 0.
// A member whose own name is the whole path comes first.
func lookup(all map[string]any, path string) (any, bool) {
	if v, ok := all[path]; ok {
		return v, true
	}
	var at any = all
	for step := range strings.SplitSeq(path, ".") {
		switch in := at.(type) {
		case map[string]any:
			next, ok := in[step]
			if !ok {
				return nil, false
			}
			at = next
		case []any:
			i, err := strconv.ParseUint(step, 10, 31)
			if err != nil || i >= uint64(len(in)) {
				return nil, false
			}
			at = in[i]
		default:
			return nil, false
		}
	}
	return at, true
}
