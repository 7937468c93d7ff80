package webhook

import (
	"net/http"
	"testing"
	"time"

	"go.uber.org/goleak"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/webhook/webhookfake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	inSecret  = "in-secret-8c1f"
	outSecret = "out-secret-55d0"
	urlToken  = "token-in-the-address-91ab"
)

func TestSuite(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		name := "blind"
		if idempotent {
			name = "idempotent"
		}
		t.Run(name, func(t *testing.T) {
			surfacetest.Run(t, func(t *testing.T) surfacetest.Kit { return newKit(t, idempotent) })
		})
	}
}

func newKit(t *testing.T, idempotent bool) surfacetest.Kit {
	t.Helper()
	far := webhookfake.New(webhookfake.Options{Secret: outSecret, SenderSecret: inSecret, Dedupe: idempotent})
	net, log := surfacetest.NewNet(t, far), surfacetest.NewLog()
	k := Platform.Keys().(*keys)
	k.Secret = inSecret
	k.Deliver = deliver{URL: "http://far.example/in?key=" + urlToken, Secret: outSecret, Idempotent: idempotent, Limit: defaultLimit}
	make := func() surface.Surface {
		return build(t, k, func(s *surface.Setup) {
			s.Guarded, s.Logger = net.Client(t), log.Logger()
		})
	}
	t.Cleanup(func() {
		for _, text := range far.Wrong() {
			if text != "the text is too long" {
				t.Errorf("the receiver found: %s", text)
			}
		}
	})
	return surfacetest.Kit{
		Surface: make(), Again: make, Far: far, Net: net, Log: log, Reach: far.Reach,
		Chat: surface.Chat{ID: "thread-1"}, Person: surface.Person{ID: "u1"},
		Secrets: []string{inSecret, outSecret, urlToken},
	}
}

// build makes a surface; what a test doesn't set must not be used.
func build(t *testing.T, k *keys, more ...func(*surface.Setup)) surface.Surface {
	t.Helper()
	s := surface.Setup{Name: "alerts", Keys: k, Now: time.Now, Client: unused(t), Guarded: unused(t), Logger: surfacetest.NewLog().Logger()}
	for _, set := range more {
		set(&s)
	}
	made, err := Platform.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// unused is a client that must not be used.
func unused(t *testing.T) *http.Client {
	return &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		t.Error("the wrong client was used")
		return nil, http.ErrServerClosed
	})}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
