package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The ways in which inbound messages are signed.
const (
	signedVerbatim = "verbatim"
	signedGitHub   = "github"
	signedSvix     = "svix"
)

// window is how far a signed time may be from ours, to either side.
const window = 300 * time.Second

// errUnsigned is the one answer to everything that is not signed as it must be.
// Which part of it was wrong is told to nobody: the sender has the documentation,
// and whoever guesses learns nothing.
var errUnsigned = errors.New("the signature is missing, wrong or too old; nothing was taken")

// signer knows one way to sign.
type signer interface {
	// proof reads the headers, before a byte of the body is. Its error is
	// errUnsigned.
	proof(h http.Header) (proof, error)
}

// proof is what the headers of a request claim.
type proof struct {
	// good compares in constant time.
	good func(body []byte) bool
	// name returns what names the message, made of signed bytes alone; nil where
	// only the body has a name.
	name func(body []byte) string
	// payload is the member of a form that holds the message as JSON, if any.
	payload string
	// ping says that it is only to see whether somebody is there.
	ping bool
}

func newSigner(how, secret string, now func() time.Time) (signer, error) {
	switch how {
	case signedVerbatim:
		return verbatim{key: []byte(secret), now: now}, nil
	case signedGitHub:
		return github{key: []byte(secret)}, nil
	case signedSvix:
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil || len(key) == 0 {
			return nil, errors.New("secret is not one of svix; copy it whole, with whsec_ and what follows")
		}
		return svix{key: key, now: now}, nil
	default:
		return nil, fmt.Errorf("signature is %q; it must be %s, %s or %s", how, signedVerbatim, signedGitHub, signedSvix)
	}
}

// verbatim is our own way: X-Verbatim-Signature: v1=<hex of the HMAC-SHA256 of
// "<timestamp>.<body>">.
type verbatim struct {
	key []byte
	now func() time.Time
}

func (v verbatim) proof(h http.Header) (proof, error) {
	at := only(h, "X-Verbatim-Timestamp")
	claim, err := fromHex(only(h, "X-Verbatim-Signature"), "v1=")
	if err != nil || !fresh(at, v.now()) {
		return proof{}, errUnsigned
	}
	return proof{good: func(body []byte) bool {
		return hmac.Equal(sum(v.key, at+".", body), claim)
	}}, nil
}

// github is that of GitHub: X-Hub-Signature-256: sha256=<hex of the HMAC-SHA256
// of the body>. There is no time in it, and X-GitHub-Delivery is not signed, so
// what names a message is its body: sent again, by GitHub or by anybody, it is
// the same message for ever.
// https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
type github struct{ key []byte }

func (g github) proof(h http.Header) (proof, error) {
	claim, err := fromHex(only(h, "X-Hub-Signature-256"), "sha256=")
	if err != nil {
		return proof{}, errUnsigned
	}
	return proof{
		good: func(body []byte) bool { return hmac.Equal(sum(g.key, "", body), claim) },
		name: func(body []byte) string {
			digest := sha256.Sum256(body)
			return "sha256-" + hex.EncodeToString(digest[:])
		},
		payload: "payload",
		ping:    only(h, "X-GitHub-Event") == "ping",
	}, nil
}

// svix is that of Standard Webhooks: webhook-signature holds one or more
// "v1,<base64 of the HMAC-SHA256 of "<id>.<timestamp>.<body>">", with a space in
// between. Svix itself names the headers svix-….
// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
// https://docs.svix.com/receiving/verifying-payloads/how-manual
type svix struct {
	key []byte
	now func() time.Time
}

func (s svix) proof(h http.Header) (proof, error) {
	brand := "Webhook-"
	if len(h.Values("Webhook-Signature")) == 0 {
		brand = "Svix-"
	}
	id, at := only(h, brand+"Id"), only(h, brand+"Timestamp")
	var claims [][]byte
	for claim := range strings.FieldsSeq(only(h, brand+"Signature")) {
		version, text, _ := strings.Cut(claim, ",")
		mac, err := base64.StdEncoding.DecodeString(text)
		if version == "v1" && err == nil {
			claims = append(claims, mac)
		}
	}
	if id == "" || len(id) > maxNameBytes || len(claims) == 0 || !fresh(at, s.now()) {
		return proof{}, errUnsigned
	}
	return proof{
		good: func(body []byte) bool {
			want, found := sum(s.key, id+"."+at+".", body), false
			for _, claim := range claims {
				found = hmac.Equal(want, claim) || found
			}
			return found
		},
		name: func([]byte) string { return id },
	}, nil
}

// only returns the value of a header that is there once, and is of printable
// ASCII; empty otherwise.
func only(h http.Header, name string) string {
	values := h.Values(name)
	if len(values) != 1 || strings.ContainsFunc(values[0], func(r rune) bool { return r < ' ' || r > '~' }) {
		return ""
	}
	return values[0]
}

func fromHex(value, prefix string) ([]byte, error) {
	text, ok := strings.CutPrefix(value, prefix)
	mac, err := hex.DecodeString(text)
	if !ok || err != nil || len(mac) != sha256.Size {
		return nil, errUnsigned
	}
	return mac, nil
}

// fresh reports whether a time in Unix seconds is within the window.
func fresh(at string, now time.Time) bool {
	if at == "" || strings.Trim(at, "0123456789") != "" {
		return false
	}
	seconds, err := strconv.ParseInt(at, 10, 64)
	limit := int64(window / time.Second)
	return err == nil && seconds >= now.Unix()-limit && seconds <= now.Unix()+limit
}
