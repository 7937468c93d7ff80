package openai

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

const (
	maxQuoteBytes   = 600
	maxProblemBytes = 64 << 10
)

// class is what a kind of problem means for the run.
type class struct {
	kind      event.ErrorKind
	code      event.ErrorCode
	retryable bool
}

// byCode classifies by the provider's error code or type. It is asked before
// the status, which says less.
func byCode(word string) (class, bool) {
	switch word {
	case "insufficient_quota", "billing_hard_limit_reached", "insufficient_balance":
		return class{event.ErrorRateLimit, event.CodeQuota, false}, true
	case "context_length_exceeded", "exceed_context_size_error":
		return class{event.ErrorInternal, event.CodeContextLength, false}, true
	case "content_filter", "content_policy_violation":
		return class{event.ErrorInternal, event.CodeContentFilter, false}, true
	}
	return class{}, false
}

// byStatus classifies by the HTTP status.
func byStatus(status int) (class, bool) {
	switch {
	case status == 401, status == 403:
		return class{event.ErrorAuth, event.CodeNone, false}, true
	case status == 402:
		return class{event.ErrorRateLimit, event.CodeQuota, false}, true
	case status == 404:
		return class{event.ErrorInternal, event.CodeConfig, false}, true
	case status == 408, status == 504:
		return class{event.ErrorInternal, event.CodeTimeout, true}, true
	case status == 413:
		return class{event.ErrorInternal, event.CodeContextLength, false}, true
	case status == 429:
		return class{event.ErrorRateLimit, event.CodeNone, true}, true
	case status == 502:
		return class{event.ErrorInternal, event.CodeNetwork, true}, true
	case status >= 500:
		return class{event.ErrorInternal, event.CodeOverloaded, true}, true
	case status >= 400:
		return class{event.ErrorInternal, event.CodeNone, false}, true
	case status >= 300:
		return class{event.ErrorInternal, event.CodeConfig, false}, true
	}
	return class{}, false
}

// byType classifies by the provider's general error types, for an error inside
// a stream, which has no status.
func byType(word string) (class, bool) {
	switch word {
	case "authentication_error", "invalid_api_key", "permission_error":
		return byStatus(http.StatusUnauthorized)
	case "rate_limit_error", "rate_limit_exceeded", "requests", "tokens":
		return byStatus(http.StatusTooManyRequests)
	case "model_not_found", "not_found_error":
		return byStatus(http.StatusNotFound)
	case "timeout", "timeout_error":
		return byStatus(http.StatusGatewayTimeout)
	case "server_error", "api_error", "internal_server_error", "internal_error", "overloaded_error", "service_unavailable":
		return byStatus(http.StatusServiceUnavailable)
	}
	return class{}, false
}

func classify(status int, p *problem) class {
	if status == 401 || status == 403 {
		c, _ := byStatus(status)
		return c
	}
	for _, word := range []string{p.code, p.kind} {
		if c, ok := byCode(word); ok {
			return c
		}
	}
	if c, ok := byStatus(cmp.Or(status, p.status)); ok {
		return c
	}
	for _, word := range []string{p.code, p.kind} {
		if c, ok := byType(word); ok {
			return c
		}
	}
	return class{kind: event.ErrorInternal}
}

// refusal is the failure that an answer with an error status is.
func (m *Model) refusal(resp *http.Response) *llm.Failure {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblemBytes))
	var f frame
	f.parse(body, true, true)
	p := &problem{}
	switch {
	case f.problem != nil && !f.bad:
		p = f.problem
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"):
		p.message = plain(body)
	}
	c := classify(resp.StatusCode, p)
	return &llm.Failure{
		Kind: c.kind, Code: c.code, Status: resp.StatusCode, Retryable: c.retryable,
		RetryAfter: retryAfter(resp.Header, time.Now()),
		Message:    m.message(c, resp.StatusCode, p),
		Err:        err,
	}
}

// interruption is the failure that an error object inside a stream is.
func (m *Model) interruption(p *problem) *llm.Failure {
	c := classify(0, p)
	return &llm.Failure{Kind: c.kind, Code: c.code, Status: p.status, Retryable: c.retryable, Message: m.message(c, p.status, p)}
}

// message tells a person what the class means, and quotes the provider.
func (m *Model) message(c class, status int, p *problem) string {
	text := meaning(c)
	if status != 0 {
		text += fmt.Sprintf(" (status %d)", status)
	}
	if quote := m.quote(p.message); quote != "" {
		text += ": " + quote
	}
	return text
}

func meaning(c class) string {
	switch {
	case c.kind == event.ErrorAuth:
		return "the provider did not accept the API key"
	case c.code == event.CodeQuota:
		return "the provider's quota is used up"
	case c.kind == event.ErrorRateLimit:
		return "the provider takes no more requests just now"
	case c.code == event.CodeContextLength:
		return "the conversation is too long for the model"
	case c.code == event.CodeContentFilter:
		return "the provider's content filter stopped the answer"
	case c.code == event.CodeConfig:
		return "the provider has no such model or address; check the model's name and the base URL"
	case c.code == event.CodeTimeout:
		return "the provider took too long"
	case c.code == event.CodeNetwork:
		return "the provider could not be reached through its gateway"
	case c.code == event.CodeOverloaded:
		return "the provider had an error of its own"
	}
	return "the provider refused the request"
}

// quote returns the provider's words on one line, without the key, at most
// maxQuoteBytes long.
func (m *Model) quote(words string) string {
	if m.key != "" {
		words = strings.ReplaceAll(words, m.key, "[key]")
	}
	words = strings.Join(strings.FieldsFunc(words, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(words) <= maxQuoteBytes {
		return words
	}
	end := maxQuoteBytes
	for !utf8.RuneStart(words[end]) {
		end--
	}
	return words[:end] + " [more]"
}

// unreachable is the failure of a request that got no answer.
func unreachable(err error) *llm.Failure {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // without the address, which may hold a secret
	}
	return &llm.Failure{
		Kind: event.ErrorInternal, Code: event.CodeNetwork, Retryable: true, Err: err,
		Message: "the provider could not be reached",
	}
}

// broken is the failure of an answer that ended before it was complete.
func broken(err error) *llm.Failure {
	return &llm.Failure{
		Kind: event.ErrorInternal, Code: event.CodeNetwork, Retryable: true, Err: err,
		Message: "the connection to the provider ended before the answer was complete",
	}
}

func unreadable(message string, err error) *llm.Failure {
	return &llm.Failure{Kind: event.ErrorInternal, Code: event.CodeNetwork, Message: message, Err: err}
}

func silent(idle time.Duration) *llm.Failure {
	return &llm.Failure{
		Kind: event.ErrorInternal, Code: event.CodeTimeout, Retryable: true,
		Message: fmt.Sprintf("the provider sent nothing for %v", idle),
	}
}

// retryAfter reads the header in both its forms; 0 for none.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
