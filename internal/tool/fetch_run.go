package tool

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"verbatim/internal/netguard"
)

// run fetches a page and follows it on its own host.
func (f *fetchURL) run(ctx context.Context, out Output, u *url.URL) error {
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	err := f.follow(limited, out, u)
	var said sentence
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return errors.New("the fetch was stopped")
	case limited.Err() != nil:
		return fmt.Errorf("the page was not there within %s", secondsText(f.timeout))
	case errors.As(err, &said):
		return said
	default:
		return plainError(u, err)
	}
}

// sentence is an error that is fit to be read as it is.
type sentence string

func (s sentence) Error() string { return string(s) }

func (f *fetchURL) follow(ctx context.Context, out Output, u *url.URL) error {
	var hops strings.Builder
	for hop := 0; ; hop++ {
		resp, err := f.get(ctx, u)
		if err != nil {
			return err
		}
		to, ok := location(resp)
		if !ok {
			defer resp.Body.Close()
			return f.show(out, u, hops.String(), resp)
		}
		resp.Body.Close()
		next, err := f.target(u, to)
		if err != nil {
			return err
		}
		if !sameHost(u, next) {
			return f.leave(out, u, next, hops.String(), resp)
		}
		if hop == maxHops {
			return sentence(fmt.Sprintf("%s redirects more than %d times; the last one leads to %s", u.Hostname(), maxHops, next))
		}
		fmt.Fprintf(&hops, "redirected to: %s\n", next)
		u = next
	}
}

func (f *fetchURL) get(ctx context.Context, u *url.URL) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("User-Agent", f.agent)
	req.Header.Set("Accept", "text/html, text/plain, application/json, */*;q=0.1")
	return f.transport.RoundTrip(req)
}

// target reads where a redirect leads to by the rules of any other address.
func (f *fetchURL) target(from *url.URL, to string) (*url.URL, error) {
	next, err := from.Parse(to)
	if err == nil {
		next, err = f.dialer.ParseURL(next.String())
	}
	var refused *netguard.Error
	if errors.As(err, &refused) {
		return nil, sentence(fmt.Sprintf("%s redirects to where no fetch may go: %v", from.Hostname(), err))
	}
	if err != nil {
		return nil, sentence(from.Hostname() + " redirects to something that is no address")
	}
	return next, nil
}

// leave reports a redirect that was not followed: whoever allowed the fetch did
// not allow this host.
func (f *fetchURL) leave(out io.Writer, from, to *url.URL, hops string, resp *http.Response) error {
	f.named.add(to.String(), from.Hostname())
	return write(out, fmt.Sprintf("%s\n%s%s\n\nThis page leads to another host, which was not contacted: %s\nCall fetch_url with that address to fetch it.\n",
		statusLine(resp), hops, from, to))
}

// show writes an answer that is no redirect.
func (f *fetchURL) show(out io.Writer, u *url.URL, hops string, resp *http.Response) error {
	most := int64(MaxFetchBytes)
	failed := resp.StatusCode < 200 || resp.StatusCode > 299
	if failed {
		most = maxFailureBytes
	}
	p, err := readPage(resp, most)
	if failed && err != nil {
		return sentence("the server answered " + statusLine(resp))
	}
	if err != nil {
		return err
	}
	end := ""
	if p.cut {
		end = fmt.Sprintf("\n[cut: the page is longer than %s]\n", countOf(most, "byte"))
	}
	if err := write(out, fmt.Sprintf("%s\n%s%s\n%s\n\n%s%s", statusLine(resp), hops, u, p.contentType, p.text(u), end)); err != nil {
		return err
	}
	if failed {
		return sentence("the server answered " + statusLine(resp))
	}
	return nil
}

func write(out io.Writer, s string) error {
	if _, err := io.WriteString(out, s); err != nil {
		return sentence(fmt.Sprintf("the page could not be kept: %v", err))
	}
	return nil
}

// statusLine is made from the number: what a server writes beside it is its own.
func statusLine(resp *http.Response) string {
	s := fmt.Sprint(resp.StatusCode)
	if name := http.StatusText(resp.StatusCode); name != "" {
		s += " " + name
	}
	return s
}

// plainError says what went wrong without the addresses that errors of the
// network name.
func plainError(u *url.URL, err error) error {
	var guard *netguard.Error
	var certificate *tls.CertificateVerificationError
	var op *net.OpError
	switch {
	case errors.As(err, &guard):
		return guard
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of %s is not to be trusted: %w", u.Hostname(), certificate.Err)
	case errors.As(err, &op):
		return fmt.Errorf("the connection to %s broke: %w", u.Hostname(), op.Err)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s ended the connection before its answer was complete", u.Hostname())
	default:
		return fmt.Errorf("%s could not be fetched: %w", u.Hostname(), err)
	}
}
