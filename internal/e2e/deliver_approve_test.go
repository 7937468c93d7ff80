package e2e

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/surface/telegram/telegramfake"
)

// TestApprovalInAChat (G12): a request for approval is decided where it is asked,
// by a button or by a code, by the person who may and nobody else; and a decision
// made elsewhere shows.
func TestApprovalInAChat(t *testing.T) {
	w := newTown(t, looksAround, plan{global: "approval_mode: ask", args: []string{"--workspace", t.TempDir()}})
	w.start()
	w.byButton(t)
	w.byCode(t)
	w.onTheWeb(t)
}

// looksAround answers after a call that needs approval.
func looksAround(a ask) []step {
	if a.Round == 0 {
		return []step{say("I have to look. "), call("c1", "list_directory", `{"path": "."}`), finish("tool_calls")}
	}
	told := a.Messages[len(a.Messages)-1].text()
	if strings.Contains(told, "denied") || strings.Contains(told, "not allowed") {
		return []step{say("Then I don't look."), finish("stop")}
	}
	return []step{say("There is nothing."), finish("stop")}
}

// asked waits until a chat's run waits for a decision.
func (w *town) asked(k *talk) id.Approval {
	w.t.Helper()
	var found id.Approval
	until(w.t, k.conversation+" asks for approval", calm(func() bool {
		var list struct {
			Approvals []struct {
				Approval     id.Approval `json:"approval_id"`
				Conversation string
			}
		}
		w.p.door().call(w.t, "GET", "/api/v1/approvals", nil, &list)
		for _, a := range list.Approvals {
			if a.Conversation == k.conversation {
				found = a.Approval
			}
		}
		return found != ""
	}))
	return found
}

func (w *town) byButton(t *testing.T) {
	ann, bob := surface.Person{ID: "1", Name: "Ann"}, surface.Person{ID: "2", Name: "Bob"}
	group := &talk{surface: onPhone, chat: surface.Chat{ID: "-2000"}, conversation: "phone.-2000", person: ann}
	w.say(group, "What is here?")
	a := w.asked(group)
	w.sees(group, "May I run list_directory?")
	i := func() int {
		return slices.IndexFunc(w.phone.Posts(group.chat), func(p telegramfake.Post) bool { return len(p.Buttons) > 0 })
	}
	if i() < 0 {
		t.Fatalf("no post has buttons: %+v", w.phone.Posts(group.chat))
	}
	request := w.phone.Posts(group.chat)[i()]
	posts := len(w.shown(group))
	w.phone.Press(group.chat, request.ID, delivery.ButtonData(a, event.DecisionAllow), bob)
	until(t, "Bob is told", calm(func() bool { return len(w.phone.Told()) == 1 }))
	if told := w.phone.Told()[0]; !strings.Contains(told, "Nothing was decided") {
		t.Errorf("Bob is told %q", told)
	}
	if len(w.shown(group)) != posts || w.asked(group) != a || i() < 0 {
		t.Errorf("a press of who may not decide changed something; the chat shows:\n%s", w.text(group))
	}
	w.phone.Press(group.chat, request.ID, delivery.ButtonData(a, event.DecisionAllow), ann)
	w.sees(group, "allowed by Ann")
	w.sees(group, "There is nothing.")
	if told := w.phone.Told(); len(told) != 2 || told[1] != "Allowed." {
		t.Errorf("they are told %q", told)
	}
	if i() >= 0 || strings.Contains(w.text(group), "May I run") {
		t.Errorf("the request still asks:\n%s", w.text(group))
	}
	w.settled(group, 1)
}

func (w *town) byCode(t *testing.T) {
	topic := talkOn(onTeam, 1)
	w.say(topic, "What is here?")
	code := delivery.ReplyCode(w.asked(topic))
	w.sees(topic, "/deny "+code)
	bob := *topic
	bob.person = surface.Person{ID: "bob@example.org"}
	w.say(&bob, "/allow "+code)
	w.sees(topic, "Nothing was decided, and it still waits.")
	w.say(topic, "/deny "+code+" it is a secret")
	w.sees(topic, "denied by ann")
	w.sees(topic, "Then I don't look.")
	if strings.Contains(w.text(topic), "May I run") {
		t.Errorf("the request still asks:\n%s", w.text(topic))
	}
	if told := w.u.told("What is here?"); !strings.Contains(told, "it is a secret") {
		t.Errorf("the model was told %q, want the reason in it", told)
	}
}

func (w *town) onTheWeb(t *testing.T) {
	topic, private, thread := talkOn(onTeam, 2), talkOn(onPhone, 2), talkOn(onHook, 2)
	for _, k := range []*talk{topic, private, thread} {
		w.say(k, "What is here?")
		a := w.asked(k)
		w.sees(k, "May I run")
		if code := w.p.door().call(t, "POST", "/api/v1/approvals/"+string(a), map[string]string{"decision": "allow"}, nil); code != http.StatusOK {
			t.Fatalf("allow: status %d", code)
		}
		w.sees(k, "allowed by")
		w.sees(k, "There is nothing.")
	}
	for _, k := range []*talk{topic, private} {
		if strings.Contains(w.text(k), "May I run") {
			t.Errorf("the request still asks:\n%s", w.text(k))
		}
	}
}
