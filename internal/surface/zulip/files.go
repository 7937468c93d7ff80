package zulip

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"verbatim/internal/surface"
)

const (
	// maxFiles and maxFileBytes are what a message may bring.
	maxFiles     = 5
	maxFileBytes = 2 << 20
	// fileTries is how often a file is asked for while the server fails; then
	// the message comes without it.
	fileTries = 3
	fileWait  = time.Second
)

// upload path in a message; the group is what follows /user_uploads/.
var uploaded = regexp.MustCompile(`/user_uploads/(\d+/[\p{L}\p{M}\p{N}_.%/-]+)`)

// filesIn lists the files that a text links to, without repetitions.
func (b *bot) filesIn(text string) []string {
	var paths []string
	for _, at := range uploaded.FindAllStringSubmatchIndex(text, -1) {
		before := text[:at[0]]
		here := before == "" || strings.HasSuffix(before, b.site.String()) || strings.ContainsAny(before[len(before)-1:], "(<\"' \t\n")
		name, err := url.PathUnescape(strings.TrimRight(text[at[2]:at[3]], "."))
		if !here || err != nil || path.Clean(name) != name || slices.Contains(paths, name) {
			continue
		}
		paths = append(paths, name)
	}
	return paths
}

// addFiles fetches the files of a message. One that can't be had is named in
// Refused; an error means that ctx ended.
func (b *bot) addFiles(ctx context.Context, m *surface.Message) error {
	for i, p := range b.filesIn(m.Text) {
		name := path.Base(p)
		if i >= maxFiles {
			m.Refused = append(m.Refused, fmt.Sprintf("%s: a message brings at most %d files", name, maxFiles))
			continue
		}
		f, err := b.fetch(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			m.Refused = append(m.Refused, name+": "+b.clean(err.Error()))
			continue
		}
		m.Files = append(m.Files, f)
	}
	return nil
}

// errFile is an error that trying again doesn't help.
type errFile struct{ text string }

func (e errFile) Error() string { return e.text }

func (b *bot) fetch(ctx context.Context, p string) (surface.File, error) {
	for try := 1; ; try++ {
		f, err := b.fetchOnce(ctx, p)
		_, final := errors.AsType[errFile](err)
		if err == nil || final || try == fileTries {
			return f, err
		}
		wait := fileWait * time.Duration(try)
		if r, ok := asRefusal(err); ok {
			wait = max(wait, r.wait(b.now()))
		}
		if err := sleep(ctx, wait); err != nil {
			return f, err
		}
	}
}

// fetchOnce asks for an address that is good for a minute, and fetches that
// without the key (https://zulip.com/api/get-file-temporary-url).
func (b *bot) fetchOnce(ctx context.Context, p string) (surface.File, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var at string
	err := b.ask(ctx, http.MethodGet, "user_uploads/"+p, nil, func(name string, dec *json.Decoder) error {
		if name != "url" {
			return errSkip
		}
		return dec.Decode(&at)
	})
	if r, ok := asRefusal(err); ok && !r.limited() && r.status < http.StatusInternalServerError {
		return surface.File{}, errFile{"the server does not give it: " + r.text}
	}
	if err != nil {
		return surface.File{}, err
	}
	u, err := b.site.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return surface.File{}, errFile{"the server gave an address for it that is none"}
	}
	return b.download(ctx, u, path.Base(p))
}

func (b *bot) download(ctx context.Context, u *url.URL, name string) (surface.File, error) {
	client := b.guarded
	if u.Scheme == b.site.Scheme && u.Host == b.site.Host {
		client = b.client
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return surface.File{}, errFile{"the server gave an address for it that is none"}
	}
	resp, err := client.Do(req)
	if err != nil {
		return surface.File{}, fmt.Errorf("it can't be fetched: %w", cause(err))
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode >= http.StatusInternalServerError:
		return surface.File{}, fmt.Errorf("it can't be fetched: the server answered %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return surface.File{}, errFile{fmt.Sprintf("it can't be fetched: the server answered %d", resp.StatusCode)}
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxFileBytes+1))
	switch {
	case err != nil:
		return surface.File{}, errors.New("it can't be fetched: the connection broke")
	case len(data) > maxFileBytes:
		return surface.File{}, errFile{fmt.Sprintf("it is larger than %d MiB", maxFileBytes>>20)}
	}
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	return surface.File{Name: name, MIME: kind, Data: data}, nil
}
