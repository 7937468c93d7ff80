package telegram_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/telegram"
	"verbatim/internal/surface/telegram/telegramfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "4711:secret-of-the-bot-abcdefghijk"

// newKit makes a bot beside a Bot API server.
func newKit(t *testing.T, o telegram.Options, chat surface.Chat) surfacetest.Kit {
	t.Helper()
	o.Token, o.Base = token, "http://api.example"
	far := telegramfake.New(token, "verbatim_bot")
	t.Cleanup(far.Close)
	other := surface.Chat{ID: "-1002"}
	far.Open(chat)
	far.Open(other)
	net, log := surfacetest.NewNet(t, far), surfacetest.NewLog()
	again := func() surface.Surface {
		s, err := telegram.Platform.New(surface.Setup{
			Name: "phone", Keys: telegram.KeysOf(o), Client: net.Client(t), Guarded: net.Client(t),
			PublicURL: "https://verbatim.example/base/", Now: time.Now, Logger: log.Logger(),
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	kit := surfacetest.Kit{
		Surface: again(), Again: again, Far: far, Net: net, Log: log,
		Chat: chat, Other: other,
		Person:      surface.Person{ID: "815", Name: "Ann Lee", Other: []string{"@annlee"}},
		Secrets:     []string{token, "secret-of-the-bot-abcdefghijk"},
		TellsChange: true,
	}
	if o.Webhook {
		kit.Reach = far.Reach
	}
	return kit
}

func TestPollingPassesTheSuite(t *testing.T) {
	for name, chat := range map[string]surface.Chat{
		"private": {ID: "815"},
		"topic":   {ID: "-1001", Thread: "7"},
	} {
		t.Run(name, func(t *testing.T) {
			surfacetest.Run(t, func(t *testing.T) surfacetest.Kit { return newKit(t, telegram.Options{}, chat) })
		})
	}
}

func TestWebhookPassesTheSuite(t *testing.T) {
	surfacetest.Run(t, func(t *testing.T) surfacetest.Kit {
		return newKit(t, telegram.Options{Webhook: true}, surface.Chat{ID: "-1001"})
	})
}
