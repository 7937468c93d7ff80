package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"mime"
	"net/http"

	"verbatim/internal/attachment"
)

// digest sums up a request while its body is read.
type digest struct {
	body io.Reader
	sum  hash.Hash
}

// digestOf puts itself in the place of the request's body.
func digestOf(w *reply, e *entry) (*digest, error) {
	d := &digest{body: http.NoBody, sum: sha256.New()}
	_, _ = io.WriteString(d.sum, e.Method+" "+e.URL.RequestURI()+"\n") // a hash takes all
	if e.ContentLength == 0 {
		return d, nil
	}
	var body io.ReadCloser
	if _, params, err := mime.ParseMediaType(e.Header.Get("Content-Type")); err == nil && params["boundary"] != "" {
		form, err := readBody(w, e, formBytes+attachment.MaxBytes)
		if err != nil {
			return nil, err
		}
		// Each sending of a form is cut at marks of its own.
		d.sum.Write(bytes.ReplaceAll(form, []byte(params["boundary"]), nil))
		body = io.NopCloser(bytes.NewReader(form))
	} else {
		d.body = io.TeeReader(e.Body, d.sum)
		body = readCloser{d.body, e.Body}
	}
	e.Request = e.WithContext(e.Context())
	e.Body = body
	return d, nil
}

type readCloser struct {
	io.Reader
	io.Closer
}

// rest reads what is left of the body and returns the sum of all.
func (d *digest) rest(w *reply, e *entry) (string, error) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w.ResponseWriter, io.NopCloser(d.body), e.route.bodyLimit())); err != nil {
		return "", problem(Invalid, "The body did not arrive whole.")
	}
	return hex.EncodeToString(d.sum.Sum(nil)), nil
}
