package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/sse"
	"verbatim/internal/turnlog"
)

func TestErrorsOfWhatIsBehind(t *testing.T) {
	rows := []struct {
		name string
		err  error
		kind Kind
	}{
		{"invalid", &chat.Error{Code: chat.Invalid, Message: "That makes no sense."}, Invalid},
		{"missing", &chat.Error{Code: chat.Missing, Message: "That is not there."}, Missing},
		{"conflict", &chat.Error{Code: chat.Conflict, Message: "That is busy now."}, Conflict},
		{"mismatch", &chat.Error{Code: chat.Mismatch, Message: "That is another."}, Mismatch},
		{"full", &chat.Error{Code: chat.Full, Message: "There is no room."}, Full},
		{"stopping", &chat.Error{Code: chat.Stopping, Message: "It shuts down."}, Unavailable},
		{"wrapped", fmt.Errorf("send: %w", &chat.Error{Code: chat.Conflict, Message: "That is busy now."}), Conflict},
		{"no run", turnlog.ErrNoRun, Missing},
		{"full log", fmt.Errorf("append: %w", turnlog.ErrFull), Full},
		{"fenced", turnlog.ErrFenced, Unavailable},
		{"closed", turnlog.ErrClosed, Unavailable},
		{"streams stopped", sse.ErrStopped, Unavailable},
		{"a secret fault", errors.New("dial sk-secret"), Internal},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			w, api := newWorld(t, nil)
			w.err = row.err
			rec := post("/chat", goodBody).of(api)
			wantError(t, rec, row.kind)
			if strings.Contains(rec.Body.String(), "sk-secret") {
				t.Error("the answer tells internals")
			}
			if row.kind == Internal {
				ref, _ := decode(t, rec)["ref"].(string)
				if ref == "" || !strings.Contains(w.logs.String(), ref) || !strings.Contains(w.logs.String(), "sk-secret") {
					t.Errorf("ref = %q, log = %s", ref, &w.logs)
				}
			}
		})
	}
}

func TestErrorTableIsWhole(t *testing.T) {
	seen := map[Kind]bool{}
	var statuses []int
	for _, d := range ErrorTable() {
		if seen[d.Kind] || d.Sentence == "" || !strings.HasSuffix(d.Sentence, ".") || d.Status < 400 {
			t.Errorf("row %v is not whole, or there twice", d)
		}
		seen[d.Kind] = true
		statuses = append(statuses, d.Status)
	}
	want := []int{400, 401, 403, 404, 405, 409, 413, 415, 422, 429, 500, 503, 507}
	if !slices.IsSorted(statuses) {
		t.Error("the table is not in the order of the statuses")
	}
	if diff := cmp.Diff(want, slices.Compact(statuses)); diff != "" {
		t.Error(diff)
	}
	for _, code := range []chat.Code{chat.Invalid, chat.Missing, chat.Conflict, chat.Mismatch, chat.TooMany, chat.Full, chat.Stopping} {
		if kindOf(code) == Internal {
			t.Errorf("%s has no kind", code)
		}
	}
}

func TestPanicIsAnAnswerAndALogLine(t *testing.T) {
	w, api := newWorld(t, nil)
	w.fault = "kaboom"
	rec := post("/chat", goodBody).of(api)
	wantError(t, rec, Internal)
	ref, _ := decode(t, rec)["ref"].(string)
	log := w.logs.String()
	if ref == "" || !strings.Contains(log, ref) || !strings.Contains(log, "kaboom") || !strings.Contains(log, "routes_test.go") && !strings.Contains(log, "kit_test.go") {
		t.Errorf("ref %q; log %s", ref, log)
	}
	if strings.Contains(rec.Body.String(), "kaboom") {
		t.Error("the answer tells internals")
	}
}

func TestHalfAnswerIsBrokenOff(t *testing.T) {
	w, api := newWorld(t, nil)
	w.half = true
	defer func() {
		if got := recover(); got != http.ErrAbortHandler {
			t.Errorf("panic = %v, want the connection broken off", got)
		}
		if !strings.Contains(w.logs.String(), "a stream broke") {
			t.Error("nothing in the log")
		}
	}()
	post("/chat", goodBody).of(api)
}
