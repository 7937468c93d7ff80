package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"verbatim/internal/surface"
)

// maxAnswerBytes is how much of an answer is read.
const maxAnswerBytes = 1 << 20

// api calls a Bot API server.
type api struct {
	base, token string
	client      *http.Client
	redact      *strings.Replacer
}

func newAPI(k *keys, client *http.Client) *api {
	_, secret, _ := strings.Cut(k.Token, ":")
	return &api{
		base: strings.TrimRight(k.APIBase, "/"), token: k.Token, client: client,
		redact: strings.NewReplacer(k.Token, "***", url.PathEscape(k.Token), "***", secret, "***", proofOf(k.Token), "***"),
	}
}

// answer is what became of a call.
type answer struct {
	// err says why no answer came; sent, that Telegram may have the request all
	// the same.
	err  error
	sent bool
	// status is that of HTTP; own says that the answer has Telegram's form:
	// https://core.telegram.org/bots/api#making-requests.
	status int
	own    bool
	ok     bool
	result json.RawMessage
	// code is Telegram's, or the status where it gave none.
	code        int
	description string
	retryAfter  time.Duration
	migrated    int64
	// long says that there was more than is read.
	long bool
}

// form is an answer in Telegram's form.
type form struct {
	OK          *bool           `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter float64 `json:"retry_after"`
		Migrated   int64   `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// call makes one request with params as JSON.
func (a *api) call(ctx context.Context, method string, params any) answer {
	var body bytes.Buffer
	e := json.NewEncoder(&body)
	e.SetEscapeHTML(false)
	if err := e.Encode(params); err != nil {
		return answer{err: fmt.Errorf("make a request of it: %w", err)}
	}
	return a.post(ctx, method, "application/json", body.Bytes())
}

// post makes one request. The library may make it anew on another connection, but
// only when not a byte of it was written to the first one, so Telegram never gets
// it twice.
func (a *api) post(ctx context.Context, method, contentType string, body []byte) answer {
	if err := ctx.Err(); err != nil {
		return answer{err: fmt.Errorf("there was no time left: %w", err)}
	}
	var far progress
	req, err := http.NewRequestWithContext(far.watch(ctx), http.MethodPost, a.base+"/bot"+a.token+"/"+method, bytes.NewReader(body))
	if err != nil {
		return answer{err: errors.New("api_base makes no address")}
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "Verbatim")
	resp, err := a.client.Do(req)
	if err != nil {
		return answer{err: a.clean(err), sent: far.reached(err)}
	}
	defer resp.Body.Close()
	return a.read(resp)
}

func (a *api) read(resp *http.Response) answer {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if err != nil {
		return answer{err: a.clean(err), sent: true}
	}
	out := answer{status: resp.StatusCode, sent: true, long: len(raw) > maxAnswerBytes}
	var f form
	if out.long || json.Unmarshal(raw, &f) != nil || f.OK == nil {
		return out
	}
	out.ok, out.result = *f.OK, f.Result
	out.code, out.description = f.Code, a.redact.Replace(f.Description)
	out.retryAfter = seconds(f.Parameters.RetryAfter)
	out.migrated = f.Parameters.Migrated
	if out.code == 0 && !out.ok {
		out.code = resp.StatusCode
	}
	// A success has status 200, and a failure says what it is.
	out.own = out.ok && resp.StatusCode == http.StatusOK || !out.ok && out.code >= 400
	return out
}

// seconds is a time that Telegram names, at most a year.
func seconds(n float64) time.Duration {
	const longest = 365 * 24 * time.Hour
	if n <= 0 {
		return 0
	}
	return time.Duration(min(n, longest.Seconds()) * float64(time.Second))
}

// clean returns an error without the address, which holds the token.
func (a *api) clean(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return &cleanError{text: a.redact.Replace(err.Error()), err: err}
}

type cleanError struct {
	text string
	err  error
}

func (e *cleanError) Error() string { return e.text }
func (e *cleanError) Unwrap() error { return e.err }

// progress is how far a request came. The library calls it from goroutines of its
// own.
type progress struct{ sought, wrote atomic.Bool }

func (p *progress) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { p.sought.Store(true) },
		WroteHeaders: func() { p.wrote.Store(true) },
	})
}

// reached reports whether the far end may have read a request that ended with err.
func (p *progress) reached(err error) bool {
	return !surface.NotWritten(err) && (p.wrote.Load() || !p.sought.Load())
}

// problem returns what went wrong as an error, nil for a success.
func (a answer) problem() error {
	switch {
	case a.err != nil:
		return a.err
	case a.own && a.ok:
		return nil
	case a.own:
		return &refusal{code: a.code, description: a.description, retryAfter: a.retryAfter}
	case a.long:
		return errTooLong
	default:
		return fmt.Errorf("the answer, with status %d, is not Telegram's", a.status)
	}
}

// errTooLong means that an answer is longer than is read.
var errTooLong = errors.New("the answer is longer than 1 MiB")

// refusal is Telegram's own error.
type refusal struct {
	code        int
	description string
	retryAfter  time.Duration
}

func (r *refusal) Error() string {
	return short(fmt.Sprintf("Telegram answered %d: %s", r.code, r.description))
}

// unauthorized reports whether Telegram does not know the token, which it says by
// 401, or by 404 where it can be none: no method of ours is unknown to it.
func (r *refusal) unauthorized() bool {
	return r.code == http.StatusUnauthorized || r.code == http.StatusNotFound
}
