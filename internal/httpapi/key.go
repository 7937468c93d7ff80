package httpapi

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"strings"
	"time"
)

// credential is what let a request in.
type credential int

const (
	byNone credential = iota
	byToken
	byCookie
)

// surface names the credential's users for the log: programs hold the token,
// browsers the cookie.
func (c credential) surface() string {
	if c == byCookie {
		return "web"
	}
	return "api"
}

// key is the secret in the forms that requests carry it.
type key struct {
	token  [sha256.Size]byte // hashed, so that comparing takes the same time for any length
	cookie string
}

func newKey(token string) key {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte("verbatim cookie 1"))
	return key{
		token:  sha256.Sum256([]byte(token)),
		cookie: base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
	}
}

// checkKey asks for the token or the cookie on all but the open routes. A
// wrong token is refused even beside a good cookie.
func (g *gate) checkKey(e *entry) *Problem {
	e.by = g.key.of(e)
	if e.by == byNone && (e.route == nil || !e.route.open) {
		return problem(Unauthenticated, "")
	}
	if e.route != nil && e.route.tokenOnly && e.by != byToken {
		return problem(Denied, "This needs the token itself; the cookie is not enough.")
	}
	return nil
}

func (k key) of(e *entry) credential {
	switch values := e.Header.Values("Authorization"); len(values) {
	case 0:
	case 1:
		scheme, token, _ := strings.Cut(values[0], " ")
		if strings.EqualFold(scheme, "Bearer") && k.isToken(token) {
			return byToken
		}
		return byNone
	default:
		return byNone
	}
	name := cookieName(e)
	for _, c := range e.Cookies() {
		if c.Name == name && subtle.ConstantTimeCompare([]byte(c.Value), []byte(k.cookie)) == 1 {
			return byCookie
		}
	}
	return byNone
}

func (k key) isToken(s string) bool {
	sum := sha256.Sum256([]byte(s))
	return subtle.ConstantTimeCompare(sum[:], k.token[:]) == 1
}

// cookieName carries the port: browsers send cookies to all ports of a host,
// so two servers on one machine would overwrite each other's.
func cookieName(e *entry) string {
	a, _ := parseAuthority(e.host)
	return "verbatim_" + a.withPort(e.scheme).port
}

// cookieLife is long because the cookie is worth nothing once the token is
// changed, and a person should not have to fetch a link again and again.
const cookieLife = 180 * 24 * time.Hour

func (k key) newCookie(e *entry, path string) *http.Cookie {
	return &http.Cookie{
		Name: cookieName(e), Value: k.cookie, Path: path,
		MaxAge: int(cookieLife / time.Second), HttpOnly: true,
		Secure: e.scheme == "https", SameSite: http.SameSiteStrictMode,
	}
}
