package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/event"
)

// runOf is a question and its run, as native frames.
func runOf(t *testing.T) (records []event.Record, frames []string) {
	t.Helper()
	for i, e := range []event.Event{
		event.UserMessage{Message: "m1", Text: "Hé\u009bllo?"}, event.Start{Model: "x/y", Version: 1},
		event.Delta{Segment: "s1", Text: "a"}, event.Delta{Segment: "s1", Offset: 1, Text: "\n b"},
		event.SegmentEnd{Segment: "s1", Phase: event.PhaseAnswer, Bytes: 4}, event.End{Finish: event.FinishStop},
	} {
		r, err := event.NewRecord("c1", "", "", e)
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			r.Run, r.Message = "r1", "m2"
		}
		// Seqs jump where the conversation has something of another kind.
		r.Seq, r.At = int64(3+2*i), time.UnixMilli(1700000000000).UTC()
		line := r.AppendJSON(nil)
		records = append(records, r)
		frames = append(frames, fmt.Sprintf("event: %s\ndata: %s\nid: e1-%d\n\n", r.Kind, line, r.Seq))
	}
	return records, frames
}

// nativeServer serves frames and drops each connection after so many bytes.
// forgetful ones do not know what Last-Event-ID means.
func nativeServer(t *testing.T, frames []string, most int, forgetful bool) *Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/v1/runs/r1/events" || r.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		last := int64(0)
		if at := r.Header.Get("Last-Event-ID"); at != "" && !forgetful {
			last, _ = strconv.ParseInt(strings.TrimPrefix(at, "e1-"), 10, 64)
		}
		text := "retry: 2000\n\n: keep-alive\n\n"
		for i, f := range frames {
			if int64(3+2*i) > last {
				text += f
			}
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(text)))
		_, _ = w.Write([]byte(text[:min(most, len(text))]))
	}))
	t.Cleanup(s.Close)
	return &Client{Base: s.URL, Token: "secret", HTTP: s.Client()}
}

func linesOf(records []event.Record) []string {
	var lines []string
	for _, r := range records {
		lines = append(lines, string(r.AppendJSON(nil)))
	}
	return lines
}

func TestRecordsComeOnceAcrossDrops(t *testing.T) {
	want, frames := runOf(t)
	head := len("retry: 2000\n\n: keep-alive\n\n")
	whole := len(strings.Join(frames, ""))
	tests := []struct {
		name      string
		most      int
		forgetful bool
	}{
		{"in one piece", head + whole, false},
		{"a frame at a time", head + 250, false},
		{"dropped within a frame", head + whole/2, false},
		{"dropped before the last byte", head + whole - 1, false},
		{"a server that repeats", head + whole, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []event.Record
			for r, err := range nativeServer(t, frames, tt.most, tt.forgetful).Records(t.Context(), "r1") {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r)
			}
			if diff := cmp.Diff(linesOf(want), linesOf(got)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	t.Run("dropped once, and then all of it again", func(t *testing.T) {
		c := nativeServer(t, frames, head+whole/2, true)
		var got []event.Record
		for r, err := range c.Records(t.Context(), "r1") {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
			if len(got) == 2 {
				full := nativeServer(t, frames, head+whole, true)
				c.Base, c.HTTP = full.Base, full.HTTP
			}
		}
		if diff := cmp.Diff(linesOf(want), linesOf(got)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

func TestRecordsOfAnotherLog(t *testing.T) {
	_, frames := runOf(t)
	tests := []struct {
		name, reset string
		frames      []string
	}{
		{"it says so", "true", frames},
		{"its ids say so", "", []string{strings.Replace(frames[3], "id: e1-", "id: e2-", 1)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked++
				text := strings.Join(frames[:2], "")
				if asked > 1 {
					w.Header().Set("Verbatim-Reset", tt.reset)
					text = strings.Join(tt.frames, "")
				}
				_, _ = w.Write([]byte(text))
			}))
			defer s.Close()
			n := 0
			var last error
			for _, err := range (&Client{Base: s.URL, HTTP: s.Client()}).Records(t.Context(), "r1") {
				if last = err; err == nil {
					n++
				}
			}
			if !errors.Is(last, ErrReset) || n != 2 {
				t.Errorf("%d records, then %v", n, last)
			}
		})
	}
}

func TestRecordsTellARefusal(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"type":"about:blank","title":"Not Found","status":404,"detail":"There is no run with this id.","code":"missing"}`))
	}))
	defer s.Close()
	n := 0
	for _, err := range (&Client{Base: s.URL, HTTP: s.Client()}).Records(t.Context(), "r1") {
		n++
		refused, ok := errors.AsType[*Refused](err)
		if !ok || *refused != (Refused{404, "missing", "There is no run with this id."}) {
			t.Errorf("got %v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors", n)
	}
}

func TestRecordsRefuseWhatIsNone(t *testing.T) {
	_, frames := runOf(t)
	for name, bad := range map[string]string{
		"no record": "event: delta\ndata: {\"seq\":5}\nid: e1-5\n\n",
		"no cursor": strings.Replace(frames[0], "id: e1-3", "id: 3", 1),
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			for _, err := range nativeServer(t, []string{bad}, 1<<20, false).Records(t.Context(), "r1") {
				if n++; err == nil {
					t.Error("it was taken")
				}
			}
			if n != 1 {
				t.Errorf("%d results", n)
			}
		})
	}
}

func TestRecordsEndWithTheirContext(t *testing.T) {
	_, frames := runOf(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range nativeServer(t, frames[:3], 1<<20, false).Records(ctx, "r1") {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("got %v", last)
	}
}

func TestRecordsLoopMayEndEarly(t *testing.T) {
	_, frames := runOf(t)
	for _, err := range nativeServer(t, frames, 1<<20, false).Records(t.Context(), "r1") {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
}

func TestSendReturnsOnceTheRunHasBegun(t *testing.T) {
	if err := flaky(t, 6, 1<<20).Send(t.Context(), Prompt{Text: "x", Run: "r1"}); err != nil {
		t.Error(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"ok":false,"error":"The conversation is busy.","code":"conflict"}`))
	}))
	defer s.Close()
	err := (&Client{Base: s.URL, HTTP: s.Client()}).Send(t.Context(), Prompt{Text: "x", Run: "r1"})
	if refused, ok := errors.AsType[*Refused](err); !ok || refused.Code != "conflict" {
		t.Errorf("got %v", err)
	}
}
