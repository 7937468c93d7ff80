package zulip

import (
	"bytes"
	"context"
	"encoding/base64"
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
	// maxReplyBytes is how much is read of an answer to a call, and of any
	// error.
	maxReplyBytes = 1 << 20
	// maxListBytes is how much is read of a list of messages or events. They
	// are read one by one, but each may carry its whole history of edits, and
	// an answer that grew while it was written has many.
	maxListBytes = 256 << 20
	// maxDetail is how many characters of an error text are passed on.
	maxDetail = 200
)

// reply is an answer in Zulip's own format
// (https://zulip.com/api/rest-error-handling).
type reply struct {
	status int
	header http.Header
	raw    []byte
	Result string  `json:"result"`
	Msg    string  `json:"msg"`
	Code   string  `json:"code"`
	Wait   float64 `json:"retry-after"`
}

func (r reply) ok() bool { return r.status == http.StatusOK && r.Result == "success" }

// limited reports whether the account's rate limit was hit.
func (r reply) limited() bool {
	return r.Code == "RATE_LIMIT_HIT" || r.status == http.StatusTooManyRequests
}

// unauthorised reports whether the key or the account is refused.
func (r reply) unauthorised() bool {
	return r.status == http.StatusUnauthorized || r.Code == "INVALID_API_KEY"
}

// wait is how long the server wants no call, exactly as it said.
func (r reply) wait(now time.Time) time.Duration {
	return max(seconds(r.Wait), retryAfter(r.header, now))
}

// refusal is an error that Zulip answered in its own format.
type refusal struct {
	reply
	text string
}

func (r *refusal) Error() string { return r.text }

// request makes a request. The values go into the address of a GET and into the
// body of everything else.
func (b *bot) request(ctx context.Context, method, path string, values url.Values) (*http.Request, error) {
	at := b.site.JoinPath("api", "v1", path)
	var body io.Reader
	if method == http.MethodGet {
		at.RawQuery = values.Encode()
	} else {
		body = strings.NewReader(values.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, at.String(), body)
	if err != nil {
		return nil, err
	}
	if method != http.MethodGet {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	b.sign(req)
	return req, nil
}

func (b *bot) sign(req *http.Request) {
	req.SetBasicAuth(b.email, b.key)
	req.Header.Set("User-Agent", "Verbatim")
	// The library repeats a request by itself when a kept connection turns out
	// to be dead and the body can be had again. So the body can't.
	req.GetBody = nil
}

// token is how the key goes over the wire.
func (b *bot) token() string {
	return base64.StdEncoding.EncodeToString([]byte(b.email + ":" + b.key))
}

// do makes a request that changes something, and judges the answer.
func (b *bot) do(req *http.Request) (reply, surface.Outcome) {
	ctx := req.Context()
	if ctx.Err() != nil {
		return reply{}, surface.Outcome{Class: surface.NotTaken, Detail: "there was no time left to send it"}
	}
	var far progress
	resp, err := b.client.Do(req.WithContext(far.watch(ctx)))
	if err != nil {
		return reply{}, far.failed(b.clean(cause(err).Error()), err)
	}
	defer resp.Body.Close()
	r, err := readReply(resp)
	if err != nil {
		wait := retryAfter(resp.Header, b.now())
		return r, surface.Outcome{
			Class:      surface.Unknown,
			RetryAfter: wait,
			Wide:       wait > 0,
			Detail:     b.clean(err.Error()) + "; Zulip may have it or not",
		}
	}
	return r, b.judge(r)
}

// ask makes a request that changes nothing and gives each field of the answer to
// field, which reads it from dec or returns errSkip. An error of Zulip's own is a
// *refusal.
func (b *bot) ask(ctx context.Context, method, path string, values url.Values, field func(name string, dec *json.Decoder) error) error {
	req, err := b.request(ctx, method, path, values)
	if err != nil {
		return errors.New("no request can be made of it")
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return fmt.Errorf("ask Zulip: %w", cause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r, err := readReply(resp)
		if err != nil {
			return err
		}
		return b.refused(r)
	}
	r := reply{status: resp.StatusCode, header: resp.Header}
	err = readObject(io.LimitReader(resp.Body, maxListBytes), func(name string, dec *json.Decoder) error {
		switch name {
		case "result":
			return dec.Decode(&r.Result)
		case "msg":
			return dec.Decode(&r.Msg)
		case "code":
			return dec.Decode(&r.Code)
		case "retry-after":
			return dec.Decode(&r.Wait)
		}
		return field(name, dec)
	})
	switch {
	case err != nil:
		return fmt.Errorf("the answer of Zulip breaks off or is not its own: %w", err)
	case !r.ok():
		return b.refused(r)
	}
	return nil
}

func (b *bot) refused(r reply) *refusal { return &refusal{reply: r, text: b.said(r)} }

// said puts an answer into a few words without a secret.
func (b *bot) said(r reply) string {
	text := fmt.Sprintf("Zulip answered %d", r.status)
	if r.Code != "" {
		text += " " + r.Code
	}
	if r.Msg != "" {
		text += ": " + r.Msg
	}
	return b.clean(text)
}

// clean takes secrets out of a text of others, and control characters, and cuts
// it.
func (b *bot) clean(text string) string {
	text = strings.NewReplacer(b.key, "***", b.token(), "***").Replace(text)
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if cut := []rune(text); len(cut) > maxDetail {
		return string(cut[:maxDetail]) + "…"
	}
	return text
}

// readReply reads an answer of Zulip's own. Anything else is an error: a proxy
// spoke, or the connection broke.
func readReply(resp *http.Response) (reply, error) {
	r := reply{status: resp.StatusCode, header: resp.Header}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxReplyBytes))
	if err != nil {
		return r, fmt.Errorf("the connection broke in the answer %d", r.status)
	}
	r.raw = raw
	if json.Unmarshal(raw, &r) != nil || r.Result != "success" && r.Result != "error" {
		return r, fmt.Errorf("the answer %d is not Zulip's own", r.status)
	}
	return r, nil
}

// errSkip says that a field is not wanted.
var errSkip = errors.New("not wanted")

// readObject reads a JSON object field by field, so that no more than one element
// of a long list is in memory.
func readObject(r io.Reader, field func(name string, dec *json.Decoder) error) error {
	dec := json.NewDecoder(r)
	if err := expect(dec, '{'); err != nil {
		return err
	}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return err
		}
		name, _ := t.(string)
		err = field(name, dec)
		if errors.Is(err, errSkip) {
			var unwanted json.RawMessage
			err = dec.Decode(&unwanted)
		}
		if err != nil {
			return err
		}
	}
	if err := expect(dec, '}'); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return errors.New("there is more behind its end")
	}
	return nil
}

// readList reads a JSON list element by element.
func readList(dec *json.Decoder, each func(raw json.RawMessage) error) error {
	if err := expect(dec, '['); err != nil {
		return err
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if err := each(raw); err != nil {
			return err
		}
	}
	return expect(dec, ']')
}

func expect(dec *json.Decoder, want json.Delim) error {
	t, err := dec.Token()
	if err != nil {
		return err
	}
	if t != want {
		return fmt.Errorf("there is no %s where one belongs", want)
	}
	return nil
}

// field reads a field of an answer that is kept whole.
func (r reply) field(name string, into any) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(r.raw, &all); err != nil {
		return err
	}
	return json.NewDecoder(bytes.NewReader(all[name])).Decode(into)
}
