package client_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/client"
)

// An import's outcomes are told also when the file was damaged after them.
func TestImport(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		status, extra := http.StatusOK, ""
		if string(body) != "whole" {
			status, extra = http.StatusUnprocessableEntity, `,"detail":"The file is cut short.","code":"unfit"`
		}
		if r.Method != http.MethodPost || r.URL.Path != "/api/v1/import" || r.Header.Get("Authorization") != "Bearer t" {
			status = http.StatusTeapot
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"conversations":[{"id":"a","state":"refused","reason":"No.","records":0}]`+extra+"}\n")
	}))
	defer server.Close()
	c := &client.Client{Base: server.URL, Token: "t", HTTP: server.Client()}
	want := []client.Outcome{{ID: "a", State: "refused", Reason: "No."}}
	got, err := c.Import(t.Context(), strings.NewReader("whole"))
	if diff := cmp.Diff(got, want); err != nil || diff != "" {
		t.Errorf("a whole file: %v %s", err, diff)
	}
	got, err = c.Import(t.Context(), strings.NewReader("cut"))
	refused, ok := errors.AsType[*client.Refused](err)
	if diff := cmp.Diff(got, want); !ok || refused.Status != http.StatusUnprocessableEntity || refused.Message != "The file is cut short." || diff != "" {
		t.Errorf("a cut file: %v %s", err, diff)
	}
}

// An export that breaks off is an error, and names are no paths.
func TestExport(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.EscapedPath())
		_, _ = io.WriteString(w, "half")
		if strings.Contains(r.URL.Path, "broken") {
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	c := &client.Client{Base: server.URL, Token: "t", HTTP: server.Client()}
	for _, name := range []string{"", "a/../b"} {
		var out bytes.Buffer
		if err := c.Export(t.Context(), &out, name); err != nil || out.String() != "half" {
			t.Errorf("%q: %v %q", name, err, out.String())
		}
	}
	if err := c.Export(t.Context(), io.Discard, "broken"); err == nil {
		t.Error("an export that breaks off is no error")
	}
	want := []string{"/api/v1/export", "/api/v1/conversations/a%2F..%2Fb/export", "/api/v1/conversations/broken/export"}
	if diff := cmp.Diff(asked, want); diff != "" {
		t.Errorf("asked for (-got +want):\n%s", diff)
	}
}
