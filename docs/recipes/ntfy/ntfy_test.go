package ntfy_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"verbatim/docs/recipes/ntfy"
	"verbatim/internal/surface"
)

// The recipe posts what it is given, once, and tells each kind of answer apart.
func TestRecipe(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		body   string
		want   surface.Outcome
	}{
		{"taken", 200, `{"id":"x1"}`, surface.Outcome{Class: surface.Delivered, PlatformID: "x1"}},
		{"too often", 429, `{"error":"limit reached"}`, surface.Outcome{Class: surface.NotTaken, Detail: "429 Too Many Requests"}},
		{"not allowed", 403, `{"error":"forbidden"}`, surface.Outcome{Class: surface.Refused, Detail: "forbidden"}},
		{"a gateway answers", 502, `<html>`, surface.Outcome{Class: surface.Unknown, Detail: "502 Bad Gateway"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got = append(got, r.Header.Get("Authorization")+" "+string(b))
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer far.Close()
			s := open(t, far)
			text, _ := s.Render("  Hello.\n\n", false)
			if out := s.Send(t.Context(), surface.Chat{ID: "main"}, surface.Post{ID: "p1", Text: text}); out != c.want {
				t.Errorf("got %+v, want %+v", out, c.want)
			}
			if len(got) != 1 || got[0] != "Bearer tk Hello." {
				t.Errorf("the server got %q", got)
			}
		})
	}
}

func open(t *testing.T, far *httptest.Server) surface.Surface {
	keys := ntfy.Platform.Keys()
	ntfy.SetForTest(keys, far.URL+"/my-agent", "tk")
	s, err := ntfy.Platform.New(surface.Setup{Name: "phone", Keys: keys, Client: far.Client(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
