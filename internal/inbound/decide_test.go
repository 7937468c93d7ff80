package inbound_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/inbound"
	"verbatim/internal/surface"
)

func code(a id.Approval) string { return delivery.ReplyCode(a) }

// H1: a decision is about the request that it names, and about no other.
func TestH1ADecisionIsAboutTheRequestItNames(t *testing.T) {
	for name, decide := range map[string]func(w *world, a id.Approval) string{
		"button": func(w *world, a id.Approval) string { return w.press(ann, private, a, event.DecisionAllow) },
		"command": func(w *world, a id.Approval) string {
			w.tell(from(ann, string(a), "/allow "+code(a)))
			return strings.Join(w.heard(), "\n")
		},
		"word": func(w *world, a id.Approval) string {
			w.tell(from(ann, string(a), "Allow "+strings.ToUpper(code(a))))
			return strings.Join(w.heard(), "\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				w.tell(from(ann, "m1", "run rm, ls"))
				decide(w, w.pending()["ls"])
				if got := w.bench.did(); got != "ls" {
					t.Errorf("it did %q", got)
				}
				if name != "word" {
					if got := decide(w, "a_9"); !strings.Contains(got, "no such request") && !strings.Contains(got, "No request") {
						t.Errorf("of an unknown one: %q", got)
					}
				}
				if _, waits := w.pending()["rm"]; !waits || w.bench.did() != "ls" {
					t.Errorf("rm does not wait; it did %q", w.bench.did())
				}
				w.wantTurns("phone.100", "run rm, ls (running)")
			})
		})
	}
}

// H2: what is decided about one run leaves the others alone.
func TestH2OneRunsDecisionIsNotAnothers(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "run a"))
		w.tell(inGroup(ann, "m2", "run b"))
		if got := w.press(ann, group, w.pending()["b"], event.DecisionAlways); got != "Allowed, from now on always." {
			t.Errorf("told %q", got)
		}
		if _, waits := w.pending()["a"]; !waits || w.bench.did() != "b" {
			t.Errorf("it did %q", w.bench.did())
		}
	})
}

// What one chat shows is not decided about from another one, by whoever knows its
// id.
func TestAnotherChatsRequest(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "run a"))
		w.tell(inGroup(ann, "m2", "hello"))
		a := w.pending()["a"]
		if got := w.press(ann, group, a, event.DecisionAllow); !strings.Contains(got, "no such request") {
			t.Errorf("told %q", got)
		}
		w.tell(inGroup(ann, "m3", "/allow "+string(a)))
		w.tell(inGroup(ann, "m4", "/allow"))
		w.wantHeard("No request", "Nothing waits")
		if w.bench.did() != "" {
			t.Errorf("it did %q", w.bench.did())
		}
	})
}

// H3: two requests at once are both there, each with its answer.
func TestH3TwoRequestsAtOnce(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "run a, b"))
		both := w.pending()
		w.tell(from(ann, "m2", "/allow"))
		got := w.heard()
		if len(got) != 1 || !strings.Contains(got[0], code(both["a"])) || !strings.Contains(got[0], code(both["b"])) || w.bench.did() != "" {
			t.Errorf("said %q, did %q", got, w.bench.did())
		}
		w.tell(from(ann, "m3", "/deny "+code(both["b"])+" too risky"))
		w.tell(from(ann, "m4", "/allow"))
		w.wantHeard()
		if w.bench.did() != "a" {
			t.Errorf("it did %q", w.bench.did())
		}
		w.wantResolved("phone.100", both["b"], event.DecisionDeny, "too risky")
		w.wantResolved("phone.100", both["a"], event.DecisionAllow, "")
	})
}

func (w *world) wantResolved(c id.Conversation, a id.Approval, want event.Decision, note string) {
	w.t.Helper()
	for _, turn := range w.state(c).Turns {
		for _, run := range turn.Runs {
			for _, p := range run.Parts {
				if p.Tool == nil || p.Tool.Resolved == nil || p.Tool.Resolved.Approval != a {
					continue
				}
				r := p.Tool.Resolved
				if r.Decision != want || r.Note != note || r.By != "Ann (1)" || r.Via.Surface != "phone" || r.Via.Sender != "1" {
					w.t.Errorf("resolved %+v, want %s %q", r, want, note)
				}
				return
			}
		}
	}
	w.t.Errorf("%s is not resolved", a)
}

// H4: there is one expiry; what comes late or again is told what it came to.
func TestH4LateAndAgain(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "run a, b, c"))
		p := w.pending()
		if got := w.press(ann, private, p["a"], event.DecisionAllow); got != "Allowed." {
			t.Errorf("told %q", got)
		}
		if got := w.press(ann, private, p["a"], event.DecisionAllow); got != "Allowed." {
			t.Errorf("the same again is told %q", got)
		}
		if got := w.press(ann, private, p["a"], event.DecisionDeny); !strings.Contains(got, `already answered with "allow"`) {
			t.Errorf("another is told %q", got)
		}
		w.tell(from(ann, "m2", "/allow "+code(p["a"])))
		w.tell(from(ann, "m3", "/deny "+code(p["a"])))
		w.wantHeard("decided so before", `already answered with "allow"`)
		w.press(ann, private, p["b"], event.DecisionDeny)
		time.Sleep(time.Minute)
		synctest.Wait()
		for _, d := range []event.Decision{event.DecisionAllow, event.DecisionDeny} {
			if got := w.press(ann, private, p["c"], d); !strings.Contains(got, "has expired") {
				t.Errorf("late %s is told %q", d, got)
			}
		}
		w.tell(from(ann, "m4", "/allow "+code(p["c"])))
		w.wantHeard("has expired")
		w.wantResolved("phone.100", p["b"], event.DecisionDeny, "")
		if w.bench.did() != "a" {
			t.Errorf("it did %q", w.bench.did())
		}
	})
}

// H5: a request that waited when the process died is told to have been stopped.
func TestH5AfterARestart(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "run a"))
		a := w.pending()["a"]
		w.crash()
		w.rest()
		if got := w.press(ann, private, a, event.DecisionAllow); !strings.Contains(got, "was stopped") {
			t.Errorf("told %q", got)
		}
		w.tell(from(ann, "m2", "/allow "+code(a)))
		w.wantHeard("was stopped")
		if w.bench.did() != "" {
			t.Errorf("it did %q", w.bench.did())
		}
	})
}

// H6: in a group only the person who asked decides, whichever way the decision
// comes; the others are told, and the request stays.
func TestH6WhoMayDecide(t *testing.T) {
	for name, c := range map[string]struct {
		list     []string
		ann, bob bool
	}{
		"nobody is named: who asked": {nil, true, false},
		"one is named":               {[]string{"2"}, false, true},
		"by a further name":          {[]string{"@ANN"}, true, false},
		"anyone":                     {[]string{"*"}, true, true},
	} {
		for way, decide := range map[string]func(w *world, p surface.Person, a id.Approval) string{
			"button": func(w *world, p surface.Person, a id.Approval) string {
				return w.press(p, group, a, event.DecisionAllow)
			},
			"command": func(w *world, p surface.Person, a id.Approval) string {
				w.tell(inGroup(p, "c"+p.ID, "/allow "+code(a)))
				return strings.Join(w.heard(), "\n")
			},
			"command without code": func(w *world, p surface.Person, _ id.Approval) string {
				w.tell(inGroup(p, "c"+p.ID, "/allow"))
				return strings.Join(w.heard(), "\n")
			},
			"word, without a mention": func(w *world, p surface.Person, a id.Approval) string {
				m := inGroup(p, "c"+p.ID, "allow "+code(a))
				m.Mentioned = false
				w.tell(m)
				return strings.Join(w.heard(), "\n")
			},
		} {
			for _, p := range []surface.Person{ann, bob} {
				t.Run(name+"/"+way+"/"+p.Name, func(t *testing.T) {
					inBubble(t, func(o *inbound.Options) { o.MayDecide = c.list }, func(t *testing.T, w *world) {
						w.tell(inGroup(ann, "m1", "run a"))
						a := w.pending()["a"]
						got := decide(w, p, a)
						if may := p.ID == "1" && c.ann || p.ID == "2" && c.bob; may {
							if w.bench.did() != "a" {
								t.Errorf("it did not run; told %q", got)
							}
							return
						}
						if !strings.Contains(got, "may decide about this request. Nothing was decided, and it still waits.") {
							t.Errorf("told %q", got)
						}
						if len(w.pending()) != 1 || w.bench.did() != "" {
							t.Errorf("%d wait, it did %q", len(w.pending()), w.bench.did())
						}
					})
				})
			}
		}
	}
}

// Who may decide need not be one who may talk; who may do neither is turned away.
func TestWhoMayDecideNeedNotTalk(t *testing.T) {
	boss, stranger := surface.Person{ID: "9"}, surface.Person{ID: "8"}
	inBubble(t, func(o *inbound.Options) { o.MayTalk, o.MayDecide = []string{"1"}, []string{"9"} }, func(t *testing.T, w *world) {
		w.tell(inGroup(ann, "m1", "run a"))
		c := code(w.pending()["a"])
		w.tell(inGroup(boss, "m2", "hello"))
		w.wantHeard("`9` may not talk")
		w.tell(inGroup(stranger, "m3", "/allow "+c))
		w.wantHeard("`8` may not talk")
		if w.bench.did() != "" {
			t.Error("a stranger decided")
		}
		w.tell(inGroup(boss, "m4", "/allow "+c))
		w.wantHeard()
		if w.bench.did() != "a" {
			t.Error("it did not run")
		}
	})
}

// A request of an answer that was asked for elsewhere is decided there, whatever
// its sender is called.
func TestAskedForElsewhere(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "hello"))
		_, err := w.service.Send(t.Context(), chat.SendRequest{
			Conversation: "phone.100", Prompt: "run a", Via: event.Via{Surface: "web", Device: "100", Sender: "1"},
		})
		if err != nil {
			t.Fatal(err)
		}
		w.rest()
		if got := w.press(ann, private, w.pending()["a"], event.DecisionAllow); !strings.Contains(got, "Nothing was decided") {
			t.Errorf("told %q", got)
		}
	})
}

// The rule of who asked holds for a person who may not talk any more.
func TestWhoAskedMayTalkNoMore(t *testing.T) {
	talk := []string{"*"}
	inBubble(t, func(o *inbound.Options) { o.MayTalk = talk }, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "run a"))
		a := w.pending()["a"]
		talk[0] = "2"
		if got := w.press(ann, private, a, event.DecisionAllow); !strings.Contains(got, "Nothing was decided") {
			t.Errorf("told %q", got)
		}
	})
}

func TestDenyWithAReason(t *testing.T) {
	for text, want := range map[string]struct {
		note    string
		decided bool
	}{
		"/deny CODE it is too risky": {"it is too risky", true},
		"/deny CODE\ntoo risky":      {"too risky", true},
		"/deny CODE":                 {"", true},
		"/deny":                      {"", true},
		"/deny because it is risky":  {"because it is risky", true},
		"/deny it's risky":           {"it's risky", true},
		"deny CODE too risky":        {"too risky", true},
		// This might be a code with a mistake in it.
		"/deny zzzz too risky": {"", false},
		"/deny a_unknown":      {"", false},
	} {
		t.Run(text, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				w.tell(from(ann, "m1", "run a"))
				a := w.pending()["a"]
				w.tell(from(ann, "m2", strings.ReplaceAll(text, "CODE", code(a))))
				if !want.decided {
					w.wantHeard("nothing was decided")
					if len(w.pending()) != 1 {
						t.Error("it waits no more")
					}
					return
				}
				w.wantHeard()
				w.wantResolved("phone.100", a, event.DecisionDeny, want.note)
			})
		})
	}
}

func TestAlwaysByText(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "run a"))
		w.tell(from(ann, "m2", "/always"))
		w.tell(from(ann, "m3", "run b"))
		if w.bench.did() != "a b" {
			t.Errorf("it did %q", w.bench.did())
		}
		w.wantHeard()
	})
}

// What a program writes decides nothing, whatever its text: its text may be
// anybody's.
func TestSignedTextDecidesNothing(t *testing.T) {
	inBubble(t, func(o *inbound.Options) { o.MayDecide = []string{"*"} }, func(t *testing.T, w *world) {
		m := surface.Message{ID: "m1", Chat: private, Sender: ann, Text: "run a", Signed: true}
		w.tell(m)
		m.ID, m.Text = "m2", "/allow "+code(w.pending()["a"])
		w.tell(m)
		if w.bench.did() != "" || len(w.pending()) != 1 {
			t.Error("it was decided")
		}
	})
}

func TestButtonsThatAreNone(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, w *world) {
		w.tell(from(ann, "m1", "run a"))
		a := string(w.pending()["a"])
		for _, data := range []string{"", "a:", "a:" + a, "a:" + a + ":expired", "a:" + a + ":cancelled", "a:" + a + ":allow:", "b:" + a + ":allow", "a:a:" + a + ":allow", "x" + a + ":allow"} {
			got, err := w.in.Press(t.Context(), surface.Press{ID: "p", Chat: private, Sender: ann, Data: data})
			if err != nil || got == "" || w.bench.did() != "" {
				t.Errorf("%q is told %q, %v; it did %q", data, got, err, w.bench.did())
			}
		}
		if n := len(delivery.ButtonData(id.Mint{}.Approval(), event.DecisionAlways)); n > 64 {
			t.Errorf("a button has %d bytes", n)
		}
	})
}

// A group with a conversation for each person: who asked decides, also when
// others have spoken since.
func TestAConversationForEachPerson(t *testing.T) {
	inBubble(t, func(o *inbound.Options) { o.Template = "{{chat}}/{{sender}}" }, func(t *testing.T, w *world) {
		w.tell(inGroup(ann, "m1", "run a"))
		w.tell(inGroup(bob, "m2", "run b"))
		w.tell(inGroup(ann, "m3", "/allow "+code(w.pending()["a"])))
		w.wantHeard()
		w.tell(inGroup(bob, "m4", "/new"))
		w.wantHeard("A new conversation")
		w.tell(inGroup(ann, "m5", "two"))
		w.tell(inGroup(bob, "m6", "two"))
		w.wantTurns("phone.-200_-1", "run a", "two")
		w.wantTurns("phone.-200_-2", "run b (cancelled)")
		w.wantTurns("phone.-200_-2.1", "two")
	})
}
