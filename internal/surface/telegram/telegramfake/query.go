package telegramfake

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
)

// query is a call with its parameters as text, objects as JSON, in whichever of
// the four ways of https://core.telegram.org/bots/api#making-requests they came.
type query struct {
	ctx    context.Context
	values map[string]string
	files  map[string]upload
	// show is false where the call is to be answered, and to have no effect.
	show bool
}

type upload struct {
	name string
	data []byte
}

// maxUploadBytes is the largest request: https://core.telegram.org/bots/api#sending-files.
const maxUploadBytes = 50 << 20

func parse(r *http.Request) (*query, error) {
	q := &query{ctx: r.Context(), values: map[string]string{}, files: map[string]upload{}}
	kind, options, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case r.Method == http.MethodGet:
	case err != nil && r.ContentLength != 0:
		return nil, errors.New("the body has no type")
	case kind == "application/json":
		err = q.json(r.Body)
	case kind == "multipart/form-data":
		err = q.form(multipart.NewReader(r.Body, options["boundary"]))
	default:
		err = r.ParseForm()
	}
	if err != nil {
		return nil, err
	}
	// Only behind the end of the body is it noticed that a client has left.
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	if r.Form == nil {
		err = r.ParseForm()
	}
	for name := range r.Form {
		q.values[name] = r.Form.Get(name)
	}
	return q, err
}

func (q *query) json(body io.Reader) error {
	var members map[string]json.RawMessage
	raw, err := io.ReadAll(io.LimitReader(body, maxUploadBytes))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		return errors.New("can't parse JSON object")
	}
	for name, value := range members {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		q.values[name] = text
	}
	return nil
}

func (q *query) form(parts *multipart.Reader) error {
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return errors.New("can't parse the form")
		}
		data, err := io.ReadAll(io.LimitReader(part, maxUploadBytes))
		if err != nil {
			return errors.New("can't read the form")
		}
		if part.FileName() == "" {
			q.values[part.FormName()] = string(data)
			continue
		}
		q.files[part.FormName()] = upload{part.FileName(), data}
		q.values[part.FormName()] = "attach://" + part.FormName()
	}
}

// number returns a parameter, or another value where it is not given.
func (q *query) number(name string, otherwise int64) (int64, error) {
	value, ok := q.values[name]
	if !ok || value == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s must be an Integer", name)
	}
	return n, nil
}

// object decodes a parameter; members that are not documented are errors.
func (q *query) object(name string, into any) (there bool, err error) {
	value, ok := q.values[name]
	if !ok || value == "" {
		return false, nil
	}
	if err := strict(value, into); err != nil {
		return true, fmt.Errorf("can't parse %s: %w", name, err)
	}
	return true, nil
}
