package telegram_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/telegram"
)

func TestServeHookTakesOnlyTelegramsCalls(t *testing.T) {
	play(t, telegram.Options{Webhook: true}, private, func(t *testing.T, s *stage) {
		var in surfacetest.Inbox
		proof := ""
		hook, ok := s.Surface.(surface.Hook)
		if !ok {
			t.Fatalf("%T is no Hook", s.Surface)
		}
		s.far.Reach(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			proof = r.Header.Get("X-Telegram-Bot-Api-Secret-Token")
		}))
		stop := s.listen(t, &in)
		defer stop()
		if s.far.Hook() != "https://verbatim.example/base/hooks/phone" {
			t.Errorf("the webhook is %q", s.far.Hook())
		}
		s.far.Reach(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			proof = r.Header.Get("X-Telegram-Bot-Api-Secret-Token")
		}))
		s.far.Happen("message", said(object{"text": "to learn the proof"}))
		after(time.Second)
		if len(proof) < 32 || strings.Contains(token, proof) {
			t.Fatalf("the proof is %q", proof)
		}
		const message = `{"update_id":1,"message":{"message_id":5,"chat":{"id":815,"type":"private"},"from":{"id":815},"text":"words"}}`
		for _, c := range []struct {
			name, proof, body string
			fails, want       int
		}{
			{"without the proof", "", message, 0, http.StatusUnauthorized},
			{"with another proof", proof[:len(proof)-1], message, 0, http.StatusUnauthorized},
			{"with the token for a proof", token, message, 0, http.StatusUnauthorized},
			{"no JSON", proof, message[:40], 0, http.StatusBadRequest},
			{"too long", proof, `{"padding":"` + strings.Repeat("x", 2<<20) + `"}`, 0, http.StatusRequestEntityTooLarge},
			{"not stored", proof, message, 1, http.StatusServiceUnavailable},
			{"stored", proof, message, 0, http.StatusOK},
			{"again", proof, message, 0, http.StatusOK},
			{"of no interest", proof, `{"update_id":2,"poll":{}}`, 0, http.StatusOK},
		} {
			in.Fail(c.fails)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/phone", strings.NewReader(c.body))
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", c.proof)
			w := httptest.NewRecorder()
			hook.ServeHook(w, r, &in)
			if w.Code != c.want {
				t.Errorf("%s: %d, not %d", c.name, w.Code, c.want)
			}
		}
		if got := in.Taken(); len(got) != 1 || got[0].Text != "words" {
			t.Errorf("%+v", got)
		}
		if strings.Contains(s.Log.String(), proof) {
			t.Error("the proof is in the log")
		}
	})
}

func TestServeHookIsClosedForPolling(t *testing.T) {
	hook, ok := newSurface(t, telegram.Options{}).(surface.Hook)
	if !ok {
		t.Fatal("it is no Hook")
	}
	w := httptest.NewRecorder()
	hook.ServeHook(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/hooks/phone", strings.NewReader("{}")), &surfacetest.Inbox{})
	if w.Code != http.StatusNotFound {
		t.Errorf("the status is %d", w.Code)
	}
}

func TestAWebhookThatSomebodyChangesIsSetAgain(t *testing.T) {
	play(t, telegram.Options{Webhook: true}, private, func(t *testing.T, s *stage) {
		var in surfacetest.Inbox
		stop := s.listen(t, &in)
		defer stop()
		mine := s.far.Hook()
		s.far.SetHook("")
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "words"})
		after(11 * time.Minute)
		if s.far.Hook() != mine || len(in.Taken()) != 1 || !strings.Contains(s.Log.String(), "set again") {
			t.Errorf("the webhook is %q, %d messages came; the log says\n%s", s.far.Hook(), len(in.Taken()), s.Log)
		}
	})
}

func TestCallsThatFailAreSaid(t *testing.T) {
	play(t, telegram.Options{Webhook: true}, private, func(t *testing.T, s *stage) {
		var in surfacetest.Inbox
		stop := s.listen(t, &in)
		defer stop()
		in.Fail(2)
		s.far.Say(surface.Message{Chat: s.Chat, Sender: s.Person, Text: "words"})
		after(30 * time.Minute)
		if n := strings.Count(s.Log.String(), "could not call the webhook"); n != 1 || len(in.Taken()) != 1 {
			t.Errorf("it is said %d times, %d messages came; the log says\n%s", n, len(in.Taken()), s.Log)
		}
	})
}
