package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"verbatim/internal/surface"
)

const (
	// maxAnswerBytes is how much of an answer is read.
	maxAnswerBytes = 1 << 20
	// bodyWait is how long the body of a 2xx is waited for: the status was the
	// receipt, and only a name can still come.
	bodyWait = 5 * time.Second
	// maxIDBytes is the longest platform id that is kept.
	maxIDBytes = 512
)

// wire is the body of a post, with its members in the order of the documentation.
type wire struct {
	PostID       string       `json:"post_id"`
	Conversation string       `json:"conversation"`
	RunID        string       `json:"run_id"`
	Kind         surface.Kind `json:"kind"`
	Seq          int64        `json:"seq"`
	Part         int          `json:"part"`
	Text         string       `json:"text"`
	Final        bool         `json:"final"`
}

// Send posts p to the target, whatever the chat: there is one address for all.
func (h *hook) Send(ctx context.Context, _ surface.Chat, p surface.Post) surface.Outcome {
	if h.target == nil {
		return surface.Outcome{Class: surface.Refused, Detail: "deliver.url is not set, so nothing is sent"}
	}
	return h.target.send(ctx, p)
}

func (t *target) send(ctx context.Context, p surface.Post) surface.Outcome {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var far progress
	req, err := t.request(far.watch(ctx), p)
	if err != nil {
		return surface.Outcome{Class: surface.Refused, Detail: "no request can be made of this post or for deliver.url"}
	}
	if ctx.Err() != nil {
		return surface.Outcome{Class: surface.NotTaken, Detail: "there was no time left to send it"}
	}
	resp, err := t.client.Do(req)
	if err != nil {
		return far.failed(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode/100 != 2 {
		return t.turnedDown(resp)
	}
	wait := time.AfterFunc(bodyWait, cancel)
	defer wait.Stop()
	return surface.Outcome{Class: surface.Delivered, PlatformID: nameIn(resp.Body), Detail: said(resp)}
}

func (t *target) request(ctx context.Context, p surface.Post) (*http.Request, error) {
	body, err := encode(p)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	// The library repeats a request by itself when a kept connection turns out
	// to be dead and the body can be had again, the more so with an
	// Idempotency-Key. So the body can't, and no connection is kept.
	req.GetBody = nil
	req.Close = true
	at := strconv.FormatInt(t.now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Verbatim")
	req.Header.Set("Idempotency-Key", p.ID)
	req.Header.Set("X-Verbatim-Timestamp", at)
	req.Header.Set("X-Verbatim-Signature", "v1="+hex.EncodeToString(sum(t.secret, at+".", body)))
	return req, nil
}

func encode(p surface.Post) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(wire{
		PostID: p.ID, Conversation: p.Conversation, RunID: p.Run, Kind: p.Kind,
		Seq: p.Seq, Part: p.Part, Text: p.Text, Final: p.Final,
	})
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// sum returns the HMAC-SHA256 of head and body joined.
func sum(key []byte, head string, body []byte) []byte {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(head))
	m.Write(body)
	return m.Sum(nil)
}

// progress is how far a request came. The library calls it from goroutines of
// its own, some after the call has returned.
type progress struct{ sought, wrote atomic.Bool }

func (f *progress) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { f.sought.Store(true) },
		WroteHeaders: func() { f.wrote.Store(true) },
	})
}

// failed is what a call without an answer comes to.
func (f *progress) failed(err error) surface.Outcome {
	if surface.NotWritten(err) || f.sought.Load() && !f.wrote.Load() {
		return surface.Outcome{Class: surface.NotTaken, Detail: "the target can't be reached: " + cause(err)}
	}
	detail := "the connection broke before an answer came, so the target may have it or not"
	if late, ok := errors.AsType[interface {
		error
		Timeout() bool
	}](err); ok && late.Timeout() {
		detail = "no answer came in time, so the target may have it or not"
	}
	return surface.Outcome{Class: surface.Unknown, Detail: detail}
}

// cause leaves the address out, which may hold a token.
func cause(err error) string {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	return err.Error()
}

// turnedDown is what an answer other than 2xx comes to. Its body is not repeated
// anywhere: it may hold what the request held.
func (t *target) turnedDown(resp *http.Response) surface.Outcome {
	out := surface.Outcome{Class: surface.Unknown, Detail: said(resp)}
	after, told := retryAfter(resp.Header.Get("Retry-After"), t.now())
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable && told:
		// The limit is that of the address, and there is one for all chats.
		out.Class, out.RetryAfter, out.Wide = surface.NotTaken, after, after > 0
	case code == http.StatusGone:
		out.Class, out.Gone = surface.Refused, true
	case code/100 == 4:
		out.Class = surface.Refused
	default:
		out.Detail += ", which does not tell whether it has the post"
	}
	return out
}

func said(resp *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("the target answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode)))
}

// retryAfter reads seconds or a date of HTTP. A part of a second counts as a
// whole one.
func retryAfter(value string, now time.Time) (after time.Duration, told bool) {
	const longest = 100 * 365 * 24 * time.Hour
	plain := strings.Trim(value, "0123456789.") == ""
	if s, err := strconv.ParseFloat(value, 64); plain && err == nil {
		return time.Duration(math.Min(math.Ceil(s), longest.Seconds())) * time.Second, true
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	return min(max(0, at.Sub(now)), longest), true
}

// nameIn returns the id of an answer {"id": …}, a string or a number as it is
// written; empty for any other answer, whole or broken.
func nameIn(body io.Reader) string {
	// What came before a break may be all there is to read.
	raw, _ := io.ReadAll(io.LimitReader(body, maxAnswerBytes))
	var answer struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(raw, &answer) != nil {
		return ""
	}
	id := scalar(answer.ID)
	if len(id) > maxIDBytes {
		return ""
	}
	return id
}

// scalar returns a string, or a number as it is written; empty for anything else.
func scalar(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}
