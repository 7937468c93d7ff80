package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"verbatim/internal/surface"
)

const (
	// maxFileBytes is the largest file that is taken.
	maxFileBytes = 2 << 20
	// downloads is how often a file is asked for before it is given up, waiting
	// from one second on, twice as long each time.
	downloads = 5
	// callTime is how long a call that should be answered at once may take.
	callTime = 30 * time.Second
)

// errFile means that a file will never be had.
var errFile = errors.New("the file can't be taken")

// files adds the files of a message, and the reasons for those that are not taken.
// Its error is ctx's.
func (b *bot) files(ctx context.Context, m *message, out *surface.Message) error {
	out.Refused = m.untaken()
	f := m.wanted()
	if f == nil {
		return nil
	}
	if f.Bytes > maxFileBytes {
		out.Refused = append(out.Refused, fmt.Sprintf("%s: it has %.1f MiB, and at most %d MiB are taken", f.Name, float64(f.Bytes)/(1<<20), maxFileBytes>>20))
		return nil
	}
	data, err := b.downloaded(ctx, f)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		out.Refused = append(out.Refused, fmt.Sprintf("%s: it could not be fetched from Telegram (%v); send it again", f.Name, err))
	default:
		out.Files = append(out.Files, surface.File{Name: f.Name, MIME: f.MIME, Data: data})
	}
	return nil
}

// wanted returns the file of a message that is to be taken: the best picture that
// is not too large, or the document. An animation has a document beside it.
func (m *message) wanted() *file {
	if m.Document != nil && m.Animation == nil {
		f := *m.Document
		if f.Name == "" {
			f.Name = "document"
		}
		return &f
	}
	if len(m.Photo) == 0 {
		return nil
	}
	best := m.Photo[0]
	for _, f := range m.Photo[1:] {
		if f.Bytes <= maxFileBytes && f.Bytes > best.Bytes || best.Bytes > maxFileBytes && f.Bytes < best.Bytes {
			best = f
		}
	}
	best.Name, best.MIME = fmt.Sprintf("photo-%d.jpg", m.ID), "image/jpeg"
	return &best
}

func (b *bot) downloaded(ctx context.Context, f *file) ([]byte, error) {
	wait := time.Second
	for try := 1; ; try++ {
		data, err := b.download(ctx, f)
		if err == nil || try == downloads || errors.Is(err, errFile) || ctx.Err() != nil {
			return data, err
		}
		if r, ok := errors.AsType[*refusal](err); ok {
			wait = max(wait, r.retryAfter)
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
		wait *= 2
	}
}

// download fetches a file once: https://core.telegram.org/bots/api#getfile.
func (b *bot) download(ctx context.Context, f *file) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	a := b.api.call(ctx, "getFile", struct {
		ID string `json:"file_id"`
	}{f.ID})
	if err := a.problem(); err != nil {
		return nil, lasting(err)
	}
	var found struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(a.result, &found); err != nil || found.Path == "" {
		return nil, errors.New("its place was not told")
	}
	if strings.HasPrefix(found.Path, "/") {
		return nil, fmt.Errorf("%w: the Bot API server keeps it on its own disk; start that server without --local", errFile)
	}
	return b.api.fetch(ctx, found.Path)
}

// lasting marks an error of Telegram that will be the same again.
func lasting(err error) error {
	r, ok := errors.AsType[*refusal](err)
	if ok && r.code/100 == 4 && r.code != http.StatusTooManyRequests {
		return fmt.Errorf("%w: %w", errFile, err)
	}
	return err
}

// fetch reads a file of the Bot API server.
func (a *api) fetch(ctx context.Context, path string) ([]byte, error) {
	address := a.base + "/file/bot" + a.token + "/" + (&url.URL{Path: path}).EscapedPath()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("%w: its path makes no address", errFile)
	}
	req.Header.Set("User-Agent", "Verbatim")
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, a.clean(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if err := a.read(resp).problem(); err != nil {
			return nil, lasting(err)
		}
		return nil, fmt.Errorf("the answer has status %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxFileBytes+1))
	switch {
	case err != nil:
		return nil, a.clean(err)
	case len(data) > maxFileBytes:
		return nil, fmt.Errorf("%w: it is larger than %d MiB", errFile, maxFileBytes>>20)
	}
	return data, nil
}

// pause waits for d, or until ctx ends, whose error it then returns.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
