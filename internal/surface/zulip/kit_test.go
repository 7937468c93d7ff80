package zulip

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/surface"
	"verbatim/internal/surface/surfacetest"
	"verbatim/internal/surface/zulip/zulipfake"
)

const (
	botEmail = "verbatim-bot@chat.example.org"
	botKey   = "abcdefghijklmnopqrstuvwxyz012345"
	botName  = "Verbatim"
)

var (
	topic  = surface.Chat{ID: "stream:7", Thread: "greetings"}
	direct = surface.Chat{ID: "direct:11"}
	iago   = surface.Person{ID: "iago@example.org", Name: "Iago", Other: []string{"11"}}
	cordel = surface.Person{ID: "cordelia@example.org", Name: "Cordelia", Other: []string{"12"}}
)

// scene is a surface beside a server, inside a bubble.
type scene struct {
	t      *testing.T
	server *zulipfake.Server
	net    *surfacetest.Net
	log    *surfacetest.Log
	keys   keys
	in     surfacetest.Inbox
}

func newScene(t *testing.T, change func(*zulipfake.Options, *keys)) *scene {
	o := zulipfake.Options{Email: botEmail, Key: botKey, Name: botName, Channels: map[int64]string{7: "general", 8: "support"}}
	k := keys{Site: "http://chat.example.org/", Email: botEmail, APIKey: botKey, Limit: defaultLimit}
	if change != nil {
		change(&o, &k)
	}
	s := &scene{t: t, server: zulipfake.New(o), log: surfacetest.NewLog(), keys: k}
	s.net = surfacetest.NewNet(t, s.server)
	s.server.AddPerson(iago)
	s.server.AddPerson(cordel)
	return s
}

func (s *scene) surface() *bot {
	s.t.Helper()
	k := s.keys
	client := s.net.Client(s.t)
	made, err := Platform.New(surface.Setup{Name: "team", Keys: &k, Client: client, Guarded: client, Now: time.Now, Logger: s.log.Logger()})
	if err != nil {
		s.t.Fatal(err)
	}
	return made.(*bot)
}

// listen runs Listen until the returned function is called, which returns what it
// ended with.
func (s *scene) listen(b *bot) (stop func() error) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	go func() { done <- b.Listen(ctx, &s.in) }()
	synctest.Wait()
	return func() error {
		cancel()
		return <-done
	}
}

// say lets a person write, and waits until the surface has dealt with it.
func (s *scene) say(m surface.Message) string {
	id := s.server.Say(m)
	settle()
	return id
}

// settle waits until the surface has dealt with what happened.
func settle() {
	<-time.After(perToken)
	synctest.Wait()
}

// texts are those of the messages that arrived.
func (s *scene) texts() []string {
	var out []string
	for _, m := range s.in.Taken() {
		out = append(out, m.Text)
	}
	return out
}

func post(text string) surface.Post {
	return surface.Post{ID: "p-1", Kind: surface.KindAnswer, Part: 1, Text: text}
}

func TestSuite(t *testing.T) {
	surfacetest.Run(t, func(t *testing.T) surfacetest.Kit {
		s := newScene(t, nil)
		return surfacetest.Kit{
			Surface: s.surface(), Far: s.server, Net: s.net, Log: s.log,
			Chat: topic, Other: direct, Person: iago,
			Secrets:     []string{botKey, s.surface().token()},
			Again:       func() surface.Surface { return s.surface() },
			TellsChange: true, TellsRemove: true,
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func body1(data []byte) io.ReadCloser { return io.NopCloser(bytes.NewReader(data)) }
