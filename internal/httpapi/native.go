package httpapi

import (
	"net/http"
	"strings"
)

// nativePrefix begins the paths of the native layer.
const nativePrefix = "/api/v1"

func isNative(p string) bool {
	rest, ok := strings.CutPrefix(p, nativePrefix)
	return ok && (rest == "" || rest[0] == '/')
}

// problemType is the form of the native layer's errors, RFC 9457.
const problemType = "application/problem+json"

// details is an error of the native layer. Its type says that the status and
// code tell all there is to tell apart.
type details struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   Kind   `json:"code"`
	// Ref is the id under which the log tells more.
	Ref string `json:"ref,omitempty"`
}

func newDetails(doc ErrorDoc, p *Problem, fault string) details {
	return details{
		Type: "about:blank", Title: http.StatusText(doc.Status), Status: doc.Status,
		Detail: p.Error(), Code: p.Kind, Ref: fault,
	}
}
