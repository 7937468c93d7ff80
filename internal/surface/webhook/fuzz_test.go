package webhook

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// FuzzMessage: what is taken has a name, something to answer and bounded parts,
// and is the same when it is read again.
func FuzzMessage(f *testing.F) {
	for _, c := range [][3]string{
		{"application/json", `{"id":"1","text":"x","thread":"t","sender":3,"attachments":[{"name":"a","url":"data:,b"}]}`, ""},
		{"application/json", foreignBody, "issue.labels.0.name"},
		{"application/x-www-form-urlencoded", "id=1&text=a%20b", ""},
		{"application/x-www-form-urlencoded", "payload=%7B%22id%22%3A1%7D", "id"},
		{"text/plain", "", ""},
	} {
		f.Add(c[0], []byte(c[1]), c[2])
	}
	f.Fuzz(func(t *testing.T, kind string, body []byte, path string) {
		h := &hook{paths: paths{Text: path}, now: func() time.Time { return newYear }}
		if h.paths.check() != nil {
			return
		}
		r := &http.Request{Header: http.Header{"Content-Type": {kind}}}
		m, err := h.message(r, body, proof{payload: "payload"})
		if err != nil {
			if !strings.Contains(err.Error(), " ") {
				t.Fatalf("the error is %q", err)
			}
			return
		}
		if m.ID == "" || m.Chat.ID == "" || !m.Signed || strings.TrimSpace(m.Text) == "" && m.Files == nil {
			t.Fatalf("taken is %+v", m)
		}
		if len(m.ID) > maxNameBytes || len(m.Chat.ID) > maxNameBytes || len(m.Text) > maxTextBytes || !utf8.ValidString(m.Text) {
			t.Fatal("a part is out of bounds")
		}
		again, err := h.message(r, body, proof{payload: "payload"})
		if err != nil || again.ID != m.ID || again.Text != m.Text || again.Chat != m.Chat {
			t.Fatalf("read again it is %+v, %v", again, err)
		}
	})
}

// FuzzDataURL: a URL made of bytes holds these bytes, and no other is read in
// two ways.
func FuzzDataURL(f *testing.F) {
	for _, s := range []string{"data:,", "data:;base64,AAEC", "DATA:Text/Plain;charset=utf-8;BASE64,QQ==", "data:a%2Cb,c%20d", "data:text/plain"} {
		f.Add(s, []byte(s))
	}
	f.Fuzz(func(t *testing.T, address string, content []byte) {
		if kind, data, ok := dataURL(address); ok && (kind == "" || len(data) > len(address)) {
			t.Fatalf("%q holds %q of type %q", address, data, kind)
		}
		kind, data, ok := dataURL("data:application/x-Test;base64," + base64.StdEncoding.EncodeToString(content))
		if !ok || kind != "application/x-test" || !bytes.Equal(data, content) {
			t.Fatalf("%q came back as %q of type %q", content, data, kind)
		}
	})
}

// FuzzSigned: no header that was not made with the key opens the door, and none
// breaks it.
func FuzzSigned(f *testing.F) {
	f.Add("1767225600", "v1=db06861daabb7a730c320b98488ea023207068cb4101062a2a2a7c3f7bf61ede", "sha256=00", "v1,AA== v1,BB==", "id")
	f.Add("-1", "v1=é", "", "v1", "")
	f.Fuzz(func(t *testing.T, at, own, hub, many, id string) {
		h := http.Header{
			"X-Verbatim-Timestamp": {at}, "X-Verbatim-Signature": {own}, "X-Hub-Signature-256": {hub},
			"Webhook-Id": {id}, "Webhook-Timestamp": {at}, "Webhook-Signature": {many},
		}
		now := func() time.Time { return newYear }
		for _, s := range []signer{verbatim{[]byte(inSecret), now}, github{[]byte(inSecret)}, svix{[]byte(inSecret), now}} {
			if claim, err := s.proof(h); err == nil && claim.good([]byte(`{"id":"m1","text":"other"}`)) {
				t.Fatalf("%T takes %q", s, h)
			}
		}
	})
}

// FuzzRetryAfter: a wait is never negative, and never told where nothing was.
func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"", "7", "0.3", "1e3", "Thu, 01 Jan 2026 00:01:30 GMT", "soon", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		after, told := retryAfter(value, newYear)
		if after < 0 || after > 0 && !told || value == "" && told {
			t.Fatalf("%q means %v, told %t", value, after, told)
		}
	})
}
