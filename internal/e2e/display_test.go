package e2e

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestG10DisplaySettingsChangeNothing: whatever is set to be hidden, the stream
// has it, the chat has it, and what is stored is the same.
func TestG10DisplaySettingsChangeNothing(t *testing.T) {
	u := newUpstream(t, func(a ask) []step {
		if a.Round > 0 {
			return []step{think("Done? "), say("It is done."), finish("stop")}
		}
		return []step{think("Hm. "), say("I look at the clock. "), call("c1", "current_time", "{}"), finish("tool_calls")}
	})
	p := startProduct(t, u)
	d := p.door()
	settings := []map[string]any{
		{"show_reasoning": true, "collapse_reasoning": false, "tool_detail": "everything", "streaming": true, "show_stats": true, "streaming_speed": 1},
		{"show_reasoning": false, "collapse_reasoning": true, "tool_detail": "nothing", "streaming": false, "show_stats": false, "streaming_speed": 0},
	}
	var streams []*seen
	var chats []conversation
	for i, set := range settings {
		if code := d.call(t, "POST", "/settings", set, nil); code != http.StatusOK {
			t.Fatalf("settings: status %d", code)
		}
		streams = append(streams, d.whole(t, prompt{Prompt: "What time is it?", Chat: name("c", i), Run: name("r", i)}))
		chats = append(chats, d.conversation(t, name("c", i)))
	}
	for i, got := range streams {
		if names := namesOf(got); names != "start reasoning delta tool_drafting tool_call tool_result reasoning delta usage end" {
			t.Errorf("with settings %d the stream has %s", i, names)
		}
	}
	ofTheRun := cmpopts.IgnoreFields(fields{}, "RunID", "MsgID", "Conversation", "Call", "Output", "Seconds")
	outside := cmpopts.IgnoreFields(frame{}, "Raw")
	if diff := cmp.Diff(streams[0].frames, streams[1].frames, ofTheRun, outside); diff != "" {
		t.Errorf("streams (-all shown +all hidden):\n%s", diff)
	}
	if diff := cmp.Diff(withoutIDs(chats[0]), withoutIDs(chats[1])); diff != "" {
		t.Errorf("chats (-all shown +all hidden):\n%s", diff)
	}
}

func namesOf(got *seen) string {
	var names []string
	for _, f := range got.frames {
		names = append(names, f.Name)
	}
	return strings.Join(names, " ")
}
