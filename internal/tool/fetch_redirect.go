package tool

import (
	"net/http"
	"net/url"
	"slices"
	"sync"
)

// maxNamed is how many redirects are remembered, newest first.
const maxNamed = 256

// redirects remembers where pages that were fetched lead to on other hosts, for
// whoever is asked about a later fetch.
type redirects struct {
	mu    sync.Mutex
	hosts map[string]string // the host that named an address
	order []string
}

func newRedirects() *redirects { return &redirects{hosts: map[string]string{}} }

// add remembers that a host named an address. The latest counts.
func (r *redirects) add(address, host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.hosts[address]; ok {
		r.order = slices.DeleteFunc(r.order, func(a string) bool { return a == address })
	}
	r.hosts[address] = host
	r.order = append(r.order, address)
	if len(r.order) > maxNamed {
		delete(r.hosts, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
}

func (r *redirects) from(address string) (host string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	host, ok = r.hosts[address]
	return host, ok
}

// location returns where an answer leads to, if it does.
func location(resp *http.Response) (string, bool) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		to := resp.Header.Get("Location")
		return to, to != ""
	}
	return "", false
}

// sameHost reports whether what was allowed for one address covers a redirect
// to another: the same host, and the same port or the usual step from http to
// https.
func sameHost(from, to *url.URL) bool {
	if from.Hostname() != to.Hostname() || from.Scheme == "https" && to.Scheme != "https" {
		return false
	}
	return from.Host == to.Host && from.Scheme == to.Scheme || from.Port() == "" && to.Port() == ""
}
