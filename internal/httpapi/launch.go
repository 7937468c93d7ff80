package httpapi

import (
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"
	"time"
)

// LaunchLife is how long a launch link is good for, if it is not used before.
const LaunchLife = 10 * time.Minute

// maxLaunchCodes bounds the codes that wait; a new one beyond it drops the
// oldest.
const maxLaunchCodes = 64

// launchCodes holds the one-time codes of launch links. They live in memory
// only: a restart forgets them. Safe for concurrent use.
type launchCodes struct {
	now func() time.Time

	mu    sync.Mutex
	codes []launchCode // oldest first
}

type launchCode struct {
	// sum is the hash of the code: looking it up takes no longer for a
	// code that is nearly right.
	sum     [sha256.Size]byte
	expires time.Time
}

func (l *launchCodes) mint() string {
	code := strings.ToLower(rand.Text())
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.codes) == maxLaunchCodes {
		l.codes = l.codes[1:]
	}
	l.codes = append(l.codes, launchCode{sum: sha256.Sum256([]byte(code)), expires: l.now().Add(LaunchLife)})
	return code
}

// spend reports whether the code was good, and makes it bad.
func (l *launchCodes) spend(code string) bool {
	sum := sha256.Sum256([]byte(code))
	l.mu.Lock()
	defer l.mu.Unlock()
	now, good := l.now(), false
	kept := l.codes[:0]
	for _, c := range l.codes {
		switch {
		case !now.Before(c.expires):
		case c.sum == sum:
			good = true
		default:
			kept = append(kept, c)
		}
	}
	l.codes = kept
	return good
}

// LaunchPath mints a launch link and returns its path and query, base path
// included: whoever opens it once within LaunchLife is let in. It never holds
// the token.
func (a *API) LaunchPath() string { return a.base + "/launch?code=" + a.codes.mint() }

// launch lets a browser in. A person whose link is used up gets the page, which
// says so; anything else gets the error.
func (a *API) launch(w *reply, e *entry) error {
	if !a.codes.spend(e.URL.Query().Get("code")) {
		if !navigates(e.Request) {
			return problem(Denied, "This launch link was used or is too old; run `verbatim link` for a new one.")
		}
		redirect(w, a.base+"/#used-link")
		return nil
	}
	http.SetCookie(w, a.gate.key.newCookie(e, a.base+"/"))
	redirect(w, a.base+"/")
	return nil
}

func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

type link struct {
	OK bool `json:"ok"`
	// Path is relative to the address that was asked; URL is whole.
	Path string `json:"path"`
	URL  string `json:"url"`
	// ExpiresIn is in seconds.
	ExpiresIn int `json:"expires_in"`
}

func (a *API) link(w *reply, e *entry) error {
	path := a.LaunchPath()
	base := e.scheme + "://" + e.host
	if own := a.gate.origins.own; own != nil {
		base = own.String()
	}
	return writeJSON(w, http.StatusOK, link{OK: true, Path: path, URL: base + path, ExpiresIn: int(LaunchLife / time.Second)})
}
