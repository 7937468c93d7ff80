// Package client speaks to a running server over the wire that every other
// client uses. It has no way in of its own.
//
// Guarantee: Chat yields each event of a run once, in order, across dropped
// connections, and so does Records with its records. Not promised: that a
// server is there at all; every call may fail as a network does.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Client speaks to one server. Safe for concurrent use.
type Client struct {
	// Base is the server's address without a slash at the end.
	Base string
	// Token is the server's secret.
	Token string
	// HTTP does the requests; it must have no timeout of its own, a stream
	// lives as long as its run.
	HTTP *http.Client
}

// Refused is an answer that is no success.
type Refused struct {
	// Status is that of HTTP, Code the kind of error, Message a sentence
	// for people.
	Status  int
	Code    string
	Message string
}

func (r *Refused) Error() string { return r.Message }

// Health asks whether the server is there. It waits at most two seconds.
func (c *Client) Health(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	return c.call(ctx, http.MethodGet, "/health", nil, nil)
}

// Link returns a new launch link. It works once, for some minutes.
func (c *Client) Link(ctx context.Context) (string, error) {
	var reply struct {
		URL string `json:"url"`
	}
	err := c.call(ctx, http.MethodPost, "/link", struct{}{}, &reply)
	return reply.URL, err
}

// Cancel stops a run. A run that has ended is not an error.
func (c *Client) Cancel(ctx context.Context, run string) error {
	return c.call(ctx, http.MethodPost, "/cancel", map[string]string{"run_id": run}, nil)
}

// Approve decides a request for approval: allow, always or deny. The same decision
// again is no error; one that was decided otherwise or has expired is.
func (c *Client) Approve(ctx context.Context, approval, choice string) error {
	return c.call(ctx, http.MethodPost, "/approve/"+url.PathEscape(approval), map[string]string{"choice": choice}, nil)
}

func (c *Client) call(ctx context.Context, method, path string, body, reply any) error {
	resp, err := c.do(ctx, method, path, body, "")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return refusal(resp)
	}
	if reply == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(reply); err != nil {
		return fmt.Errorf("answer of %s %s: %w", method, path, err)
	}
	return nil
}

func (c *Client) do(ctx context.Context, method, path string, body any, after string) (*http.Response, error) {
	var content io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", method, path, err)
		}
		content = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	return c.HTTP.Do(req)
}

// refusal reads what the server says about a request it did not fulfil.
func refusal(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return err
	}
	var said struct {
		Error  string `json:"error"`  // compatible layer
		Detail string `json:"detail"` // native layer
		Code   string `json:"code"`
	}
	r := &Refused{Status: resp.StatusCode, Message: "the server answered " + resp.Status}
	if json.Unmarshal(raw, &said) != nil {
		return r
	}
	for _, sentence := range []string{said.Error, said.Detail} {
		if strings.TrimSpace(sentence) != "" {
			r.Code, r.Message = said.Code, sentence
		}
	}
	return r
}
