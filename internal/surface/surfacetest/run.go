package surfacetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/surface"
)

// Run runs the suite against kits that newKit makes, each case in a bubble of
// testing/synctest of its own. What a surface says that it can't do is left out.
func Run(t *testing.T, newKit func(t *testing.T) Kit) {
	t.Helper()
	cases := slices.Concat(callCases(), []scenario{
		{"what it can do is said once and for all", saysWhatItCan},
		{"the same Markdown always makes the same text", rendersTheSame},
		{"posts of every length stand there whole, in order", showsLengths},
		{"a post of the longest length is taken, a longer one is not shown whole", keepsTheLimit},
		{"posts made at once are each there once", sendsAtOnce},
		{"a post for one chat is in no other", keepsChatsApart},
		{"a call whose time is over is not made", makesNoLateCall},
		{"a call to a far end that is not there was not taken", findsNobody},
		{"a limit that is waited for exactly is over", waitsExactly},
		{"the same post again is shown once", repeats},
		{"what it wrote can be read back", readsBack},
		{"an edit that changes nothing is fine", editsToTheSame},
		{"a post that a person deleted is gone", findsItGone},
		{"an answer to a message that is not there any more is sent all the same", answersTheGone},
		{"typing is no post", types},
		{"a post with a file is one call", sendsAFile},
		{"a press of a button comes with its data", pressesAButton},
		{"what people write comes once each, in order", receives},
		{"a message that comes twice is one message", receivesTwice},
		{"what could not be stored is given again", givesAgain},
		{"what was written while nobody listened comes later", catchesUp},
		{"a changed message is told", tellsChanges},
		{"a deleted message is told", tellsRemovals},
		{"listening ends when it is told to", stopsListening},
	}, readCases())
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &scene{Kit: newKit(t), t: t}
				c.play(s)
				s.keepsSecrets("the log", s.Log.String())
			})
		})
	}
}

type scenario struct {
	name string
	play func(s *scene)
}

// scene is a case that is being played.
type scene struct {
	Kit
	t     *testing.T
	posts int
}

// post makes a post of Markdown, rendered as delivery has it rendered.
func (s *scene) post(markdown string, plain bool) surface.Post {
	s.t.Helper()
	text, _ := s.Surface.Render(markdown, plain)
	s.posts++
	return surface.Post{
		ID: fmt.Sprintf("post-%d", s.posts), Conversation: "c.one", Run: "r1", Kind: surface.KindAnswer,
		Seq: int64(s.posts), Part: 1, Text: text, Plain: plain, Final: true,
	}
}

// send makes a call with the deadline of all calls.
func (s *scene) send(chat surface.Chat, p surface.Post) surface.Outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), CallTime)
	defer cancel()
	return s.checked(s.Surface.Send(ctx, chat, p))
}

func (s *scene) edit(id string, p surface.Post) surface.Outcome {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), CallTime)
	defer cancel()
	return s.checked(s.Surface.Edit(ctx, s.Chat, id, p))
}

// checked looks at what holds of every outcome.
func (s *scene) checked(o surface.Outcome) surface.Outcome {
	s.t.Helper()
	s.keepsSecrets("a Detail", o.Detail)
	known := []surface.Class{surface.Delivered, surface.NotTaken, surface.Refused, surface.Unknown}
	switch {
	case !slices.Contains(known, o.Class):
		s.t.Errorf("the class is %q", o.Class)
	case o.Class != surface.Delivered && o.PlatformID != "":
		s.t.Errorf("a post that is %s has the platform id %q", o.Class, o.PlatformID)
	case o.Class != surface.Refused && (o.Gone || o.Markup):
		s.t.Errorf("an outcome that is %s says Gone %t, Markup %t", o.Class, o.Gone, o.Markup)
	case o.Class != surface.Delivered && o.Detail == "":
		s.t.Errorf("an outcome that is %s has no Detail", o.Class)
	case o.RetryAfter < 0:
		s.t.Errorf("RetryAfter is %v", o.RetryAfter)
	}
	return o
}

// keepsSecrets fails if a secret is in a text.
func (s *scene) keepsSecrets(where, text string) {
	s.t.Helper()
	for i, secret := range s.Secrets {
		if secret != "" && strings.Contains(text, secret) {
			s.t.Errorf("secret %d is in %s", i, where)
		}
	}
}

// delivered sends Markdown that must be taken, and returns the platform's id.
func (s *scene) delivered(markdown string) string {
	s.t.Helper()
	o := s.send(s.Chat, s.post(markdown, false))
	if o.Class != surface.Delivered {
		s.t.Fatalf("%q is %s (%s)", short(markdown), o.Class, o.Detail)
	}
	return o.PlatformID
}

// reads fails unless a reader of the chat sees these texts, word by word.
func (s *scene) reads(want ...string) {
	s.t.Helper()
	var got []string
	for _, seen := range s.Far.Shown(s.Chat) {
		got = append(got, words(seen.Text))
	}
	for i := range want {
		want[i] = words(want[i])
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("a reader sees %q, not %q", got, want)
	}
}

// listening is a Listen that runs.
type listening struct {
	s    *scene
	end  context.CancelFunc
	done chan error
}

// listen starts Listen and returns when the surface waits for something.
func (s *scene) listen(sf surface.Surface, in *Inbox) *listening {
	s.t.Helper()
	if s.Reach != nil {
		hook, ok := sf.(surface.Hook)
		if !ok {
			s.t.Fatalf("the far end pushes, but %T is no Hook", sf)
		}
		s.Reach(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { hook.ServeHook(w, r, in) }))
	}
	ctx, cancel := context.WithCancel(s.t.Context())
	l := &listening{s: s, end: cancel, done: make(chan error, 1)}
	go func() { l.done <- sf.Listen(ctx, in) }()
	synctest.Wait()
	return l
}

// stop ends Listen and waits for it. It must not have ended before.
func (l *listening) stop() {
	l.s.t.Helper()
	select {
	case err := <-l.done:
		l.end()
		l.s.t.Fatalf("Listen ended by itself: %v", err)
	default:
	}
	start := time.Now()
	l.end()
	err := <-l.done
	if !errors.Is(err, context.Canceled) {
		l.s.t.Errorf("Listen ended with %v, not with what its context ended by", err)
	}
	if err != nil {
		l.s.keepsSecrets("Listen's error", err.Error())
	}
	if took := time.Since(start); took > time.Second {
		l.s.t.Errorf("Listen took %v to end", took)
	}
}

// patience is how long a surface may take to get over a trouble.
const patience = 15 * time.Minute

// until waits for something to become so.
func (s *scene) until(what string, ok func() bool) {
	s.t.Helper()
	for start := time.Now(); !ok(); <-time.After(100 * time.Millisecond) {
		if time.Since(start) > patience {
			s.t.Fatalf("after %v: %s", patience, what)
		}
	}
	synctest.Wait()
}
