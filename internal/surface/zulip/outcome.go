package zulip

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"verbatim/internal/surface"
)

// longestWait bounds what a server may ask for.
const longestWait = 100 * 365 * 24 * time.Hour

// judge says what an answer of Zulip's own means for any call.
func (b *bot) judge(r reply) surface.Outcome {
	out := surface.Outcome{Detail: b.said(r)}
	switch {
	case r.ok():
		out.Class = surface.Delivered
		out.RetryAfter = pace(r.header, b.now())
	case r.limited():
		out.Class = surface.NotTaken
		out.RetryAfter = r.wait(b.now())
	case r.unauthorised():
		// It is the key that is refused, not this message.
		out.Class = surface.NotTaken
		out.Detail += "; check email and api_key"
	case r.status >= http.StatusInternalServerError:
		// The server stores a message before it tells the others of it, and
		// an error in between is this one too.
		out.Class = surface.Unknown
	default:
		out.Class = surface.Refused
	}
	out.Wide = out.RetryAfter > 0
	return out
}

// progress is how far a request came. The library calls it from goroutines of its
// own, some after the call has returned.
type progress struct{ sought, wrote atomic.Bool }

// watch marks the request as begun before its first byte leaves: the headers are
// still in a buffer when the library says that they are written.
func (f *progress) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { f.sought.Store(true) },
		WroteHeaders: func() { f.wrote.Store(true) },
	})
}

// failed is what a call without an answer comes to.
func (f *progress) failed(detail string, err error) surface.Outcome {
	if surface.NotWritten(err) || f.sought.Load() && !f.wrote.Load() {
		return surface.Outcome{Class: surface.NotTaken, Detail: "Zulip can't be reached: " + detail}
	}
	detail = "the connection broke before an answer came, so Zulip may have it or not"
	if errors.Is(err, context.DeadlineExceeded) {
		detail = "no answer came in time, so Zulip may have it or not"
	}
	return surface.Outcome{Class: surface.Unknown, Detail: detail}
}

// cause leaves the address out, which is long and says nothing new.
func cause(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// retryAfter reads seconds, which Zulip writes with a fraction, or a date.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return seconds(s)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(now)), longestWait)
}

// seconds rounds up to a millisecond; what is no time at all is none.
func seconds(s float64) time.Duration {
	if math.IsNaN(s) || s <= 0 {
		return 0
	}
	return time.Duration(math.Ceil(min(s, longestWait.Seconds())*1000)) * time.Millisecond
}

// pace is how long to wait after a call that used up the limit. Zulip tells when
// the whole limit is free again (https://zulip.com/api/http-headers) and gives it
// back call by call, so one call comes back after that share of the time. If that
// was too early, its refusal says exactly how long.
func pace(h http.Header, now time.Time) time.Duration {
	number := func(name string) int64 {
		n, err := strconv.ParseInt(h.Get(name), 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	limit, reset := number("X-RateLimit-Limit"), number("X-RateLimit-Reset")
	if number("X-RateLimit-Remaining") != 0 || limit < 1 || reset < 0 {
		return 0
	}
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		// The server's clock counts, not ours.
		now = sent
	}
	left := min(time.Unix(reset, 0).Sub(now), time.Hour)
	return max(0, left/time.Duration(limit)).Round(time.Millisecond)
}
