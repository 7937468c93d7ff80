package e2e

import (
	"regexp"
	"strings"
	"testing"

	"verbatim/internal/golden"
)

// TestVerifyToldByThePlatform (G8): receipts can be checked: the program asks the
// platform what it shows, and fails when that is something else or nothing.
func TestVerifyToldByThePlatform(t *testing.T) {
	w := newTown(t, saysTwice, plan{global: "approval_mode: never"})
	w.start()
	topic, private, thread := talkOn(onTeam, 1), talkOn(onPhone, 1), talkOn(onHook, 1)
	runs := map[*talk]string{}
	for _, k := range []*talk{topic, private, thread} {
		w.say(k, "What time is it?")
		runs[k] = w.settled(k, 1)[0].Run
	}
	w.tells(t, runs[private], 0, "cannot check")
	w.tells(t, runs[thread], 0, "cannot check")
	w.tells(t, runs[topic], 0, "the platform shows exactly this")
	posts := w.shown(topic)
	answer := posts[len(posts)-1]
	w.team.Rewrite(topic.chat, answer.PlatformID, "It is never.")
	w.tells(t, runs[topic], 1, "in message "+answer.PlatformID+"; THE PLATFORM SHOWS SOMETHING ELSE")
	w.team.Rewrite(topic.chat, answer.PlatformID, answer.Text)
	w.tells(t, runs[topic], 0, "in message "+answer.PlatformID+"; the platform shows exactly this")
	w.team.Erase(topic.chat, answer.PlatformID)
	w.tells(t, runs[topic], 1, "in message "+answer.PlatformID+"; THE PLATFORM HAS IT NO MORE")

	said, code := w.command("receipts", runs[thread])
	if code != 0 {
		t.Errorf("receipts: exit code %d", code)
	}
	golden.File(t, "testdata/receipts.txt", []byte(nameless(said)))
	if said, code := w.command("verify", "no-such-run"); code != 1 || said != "" {
		t.Errorf("verify of a run that there is not: exit code %d and %q, want 1 and nothing", code, said)
	}
}

func (w *town) tells(t *testing.T, run string, code int, part string) {
	t.Helper()
	said, got := w.command("verify", run)
	if got != code || !strings.Contains(said, part) {
		t.Errorf("verify: exit code %d, want %d; no %q in:\n%s", got, code, part, said)
	}
}

// saysTwice answers with a tool between two texts.
func saysTwice(a ask) []step {
	if a.Round == 0 {
		return []step{say("I look at the clock."), call("c1", "current_time", "{}"), finish("tool_calls")}
	}
	return []step{say("It is *late*."), finish("stop")}
}

// randomNames are ids that nobody chose.
var randomNames = regexp.MustCompile(`\b([a-z]+_)[a-z0-9]{20,}`)

func nameless(text string) string { return randomNames.ReplaceAllString(text, "${1}…") }
