package zulip

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
)

func withFiles(text string, names ...string) surface.Post {
	p := post(text)
	for _, name := range names {
		p.Files = append(p.Files, surface.File{Name: name, MIME: "text/plain", Data: []byte("inside " + name)})
	}
	return p
}

func TestFilesAreShownUnderTheText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		b := s.surface()
		out := b.Send(t.Context(), topic, withFiles("see", "a.txt", "../x/b [1].md"))
		s.compare("send", out, surface.Outcome{Class: surface.Delivered, PlatformID: "1001"})
		seen := s.server.Shown(topic)
		if len(seen) != 1 || !strings.HasPrefix(seen[0].Text, "see\n\n[a.txt](/user_uploads/2/ab/") || !strings.Contains(seen[0].Text, "\n[b _1_.md](/user_uploads/") {
			t.Fatalf("a reader sees %v", seen)
		}
		if !b.Same(seen[0], "see") || b.Same(seen[0], "sea") {
			t.Error("read back, it is not what was sent")
		}
		inside := slices.Sorted(maps.Values(s.server.Uploads()))
		if !slices.Equal(inside, []string{"inside ../x/b [1].md", "inside a.txt"}) {
			t.Errorf("the files hold %q", inside)
		}
		s.compare("edit", b.Edit(t.Context(), topic, "1001", withFiles("look", "a.txt")), surface.Outcome{Class: surface.Delivered})
		if text := s.server.Shown(topic)[0].Text; !strings.HasPrefix(text, "look\n\n[a.txt](") {
			t.Errorf("after the edit a reader sees %q", text)
		}
	})
}

// failing fails at some paths and leaves the rest to the server.
func (s *scene) failing(path string, times int, h http.Handler) {
	left := times
	s.net = surfacetest.NewNet(s.t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, path) && left > 0 {
			left--
			h.ServeHTTP(w, r)
			return
		}
		s.server.ServeHTTP(w, r)
	}))
}

func TestWithoutItsFilesAPostIsNotSent(t *testing.T) {
	cases := []struct {
		name string
		at   http.Handler
		want surface.Outcome
	}{
		{"refused", answers(400, nil, `{"result":"error","code":"REALM_UPLOAD_QUOTA","msg":"full"}`), surface.Outcome{Class: surface.Refused}},
		{"too large for the proxy", answers(413, nil, `<html>`), surface.Outcome{Class: surface.Refused}},
		{"the server's fault", answers(500, nil, `{"result":"error","msg":"Internal server error"}`), surface.Outcome{Class: surface.NotTaken}},
		{"a gateway's fault", answers(502, nil, `<html>`), surface.Outcome{Class: surface.NotTaken}},
		{"the limit", answers(429, nil, `{"result":"error","code":"RATE_LIMIT_HIT","retry-after":3}`), surface.Outcome{Class: surface.NotTaken, RetryAfter: 3 * time.Second, Wide: true}},
		{"nowhere", answers(200, nil, `{"result":"success","msg":""}`), surface.Outcome{Class: surface.NotTaken}},
		{"elsewhere", answers(200, nil, `{"result":"success","url":"https://evil.example/x"}`), surface.Outcome{Class: surface.NotTaken}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScene(t, nil)
				s.failing("/api/v1/user_uploads", 1, c.at)
				b := s.surface()
				s.compare("send", b.Send(t.Context(), topic, withFiles("see", "a.txt")), c.want)
				if s.server.Calls() != 0 {
					t.Error("a message was sent")
				}
				if c.want.Class == surface.NotTaken {
					s.compare("again", b.Send(t.Context(), topic, withFiles("see", "a.txt")), surface.Outcome{Class: surface.Delivered, PlatformID: "1001"})
				}
			})
		})
	}
}

func TestLinksThatDoNotFitAreSaidBeforeSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, nil)
		s.compare("send", s.surface().Send(t.Context(), topic, withFiles(strings.Repeat("x", 9990), "a.txt")), surface.Outcome{Class: surface.Refused})
		if s.server.Calls() != 0 {
			t.Error("it was sent")
		}
	})
}
