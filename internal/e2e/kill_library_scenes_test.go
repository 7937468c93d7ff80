package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
)

// wordy answers in a few pieces, and names the question.
func wordy(a ask) []step {
	return []step{think("Hm. "), say("About "), say(a.Prompt), say(fmt.Sprintf(", for the time %d.", a.Nth+1)), finish("stop")}
}

// forkScene is a chat that somebody forks again and again.
type forkScene struct {
	sceneBase
	made    []string
	cut     bool // a fork was asked for and not answered
	stopped chan struct{}
}

func (s *forkScene) chat() id.Conversation { return id.Conversation(s.named("fork")) }

func (s *forkScene) answer(a ask) []step {
	if strings.HasSuffix(a.Prompt, s.named("-to-fork")) {
		return wordy(a)
	}
	return nil
}

func (s *forkScene) begin(d *door) {
	for _, what := range []string{"one", "two"} {
		s.toEnd(d, prompt{Prompt: what + s.named("-to-fork"), Chat: s.named("fork")})
	}
	row := 0
	s.toEnd(d, prompt{Chat: s.named("fork"), RegenerateOf: &row})
	s.stopped = make(chan struct{})
	first := make(chan struct{})
	go func() {
		defer close(s.stopped)
		for i := range 200 {
			made, code := s.forkNow(d)
			if code != http.StatusOK {
				s.cut = true
				return
			}
			s.made = append(s.made, made)
			if i == 0 {
				close(first)
			}
		}
	}()
	receive(s.t, "the first fork", first)
}

func (s *forkScene) forkNow(d *door) (made string, code int) {
	res, err := d.request("POST", "/fork/"+s.named("fork")+"/3", nil, http.Header{})
	if err != nil {
		return "", 0
	}
	defer res.Body.Close()
	var said struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&said); err != nil {
		return "", 0
	}
	return said.ID, res.StatusCode
}

func (s *forkScene) left(*transcript.Conversation) []phase {
	receive(s.t, "the last fork", s.stopped)
	if s.cut {
		return []phase{forkUnderWay}
	}
	return nil
}

func (s *forkScene) after(d *door) {
	var list struct{ Chats []struct{ ID, Title string } }
	if code := d.call(s.t, "GET", "/chats", nil, &list); code != http.StatusOK {
		s.t.Errorf("list: status %d", code)
		return
	}
	title := "one" + s.named("-to-fork") + " (fork)"
	var found []string
	for _, line := range list.Chats {
		if line.Title == title {
			found = append(found, line.ID)
		}
	}
	for _, made := range s.made {
		if !slices.Contains(found, made) {
			s.t.Errorf("the fork %s was made and is gone", made)
		}
	}
	if len(found) > len(s.made)+1 {
		s.t.Errorf("%d forks are there, %d were made", len(found), len(s.made))
	}
	source := d.conversation(s.t, s.named("fork"))
	for _, c := range found {
		if fork := d.conversation(s.t, c); fmt.Sprint(withoutIDs(fork)) != fmt.Sprint(withoutIDs(source)) {
			s.t.Errorf("the fork %s is %+v, its source %+v", c, fork.Messages, source.Messages)
		}
	}
}

func withoutIDs(c conversation) []row {
	var rows []row
	for _, r := range c.Messages {
		rows = append(rows, row{Role: r.Role, Content: r.Content, Status: r.Status, Versions: r.Versions, Parts: r.Parts})
	}
	return rows
}

// versionScene is an answer of two versions that somebody switches to and fro.
type versionScene struct {
	sceneBase
	last, asked int // the version that was shown last, and the one asked for last
	cut         bool
	stopped     chan struct{}
}

func (s *versionScene) chat() id.Conversation { return id.Conversation(s.named("version")) }

func (s *versionScene) answer(a ask) []step {
	if a.Prompt == s.named("two-versions") {
		return wordy(a)
	}
	return nil
}

func (s *versionScene) begin(d *door) {
	s.toEnd(d, prompt{Prompt: s.named("two-versions"), Chat: s.named("version")})
	row := 0
	s.toEnd(d, prompt{Chat: s.named("version"), RegenerateOf: &row})
	s.last = 1
	s.stopped = make(chan struct{})
	go func() {
		defer close(s.stopped)
		for i := range 2000 {
			s.asked = i % 2
			if code := status(d, "POST", fmt.Sprintf("/version/%s/0/%d", s.named("version"), s.asked), ""); code != http.StatusOK {
				s.cut = true
				return
			}
			s.last = s.asked
		}
	}()
}

func (s *versionScene) left(*transcript.Conversation) []phase {
	receive(s.t, "the last switch", s.stopped)
	if s.cut {
		return []phase{versionSwitch}
	}
	return nil
}

func (s *versionScene) after(d *door) {
	c := d.conversation(s.t, s.named("version"))
	if len(c.Messages) != 2 || len(c.Messages[1].Versions) != 2 {
		s.t.Errorf("rows %+v", c.Messages)
		return
	}
	shown := slices.Index(c.Messages[1].Versions, c.Messages[1].Content)
	if shown != s.last && (!s.cut || shown != s.asked) {
		s.t.Errorf("version %d is shown, %d was shown last and %d asked for", shown, s.last, s.asked)
	}
}

// deleteScene is a turn that is deleted before the kill, or, when raced, at it.
type deleteScene struct {
	sceneBase
	answered int
	hidden   bool
}

func (s *deleteScene) chat() id.Conversation { return id.Conversation(s.named("delete")) }

// word is one that stands nowhere else.
func (s *deleteScene) word() string { return fmt.Sprintf("Zyzzyva%dq", s.n) }

func (s *deleteScene) answer(a ask) []step {
	if strings.HasSuffix(a.Prompt, s.named("delete-or-keep")) {
		return wordy(a)
	}
	return nil
}

func (s *deleteScene) begin(d *door) {
	for _, what := range []string{"kept ", s.word() + " "} {
		s.toEnd(d, prompt{Prompt: what + s.named("delete-or-keep"), Chat: s.named("delete")})
	}
	if !s.raced {
		s.remove(d)
		if s.answered != http.StatusOK {
			s.t.Errorf("delete: status %d", s.answered)
		}
	}
}

func (s *deleteScene) remove(d *door) {
	s.answered = status(d, "DELETE", "/messages/"+s.named("delete")+"/2", "")
}

func (s *deleteScene) strike(d *door) {
	if s.raced {
		s.remove(d)
	}
}

func (s *deleteScene) left(state *transcript.Conversation) []phase {
	s.hidden = state.Turns[1].Deleted
	if s.answered == http.StatusOK && !s.hidden {
		s.t.Error("a deletion that was taken is not stored")
	}
	if s.raced {
		return []phase{deleteUnderWay}
	}
	return []phase{undoTime}
}

func (s *deleteScene) after(d *door) {
	want := map[bool]int{true: 2, false: 4}[s.hidden]
	if rows := d.conversation(s.t, s.named("delete")).Messages; len(rows) != want {
		s.t.Errorf("%d rows, want %d", len(rows), want)
	}
	var found struct{ Hits []struct{ ID string } }
	d.call(s.t, "GET", "/search?q="+url.QueryEscape(s.word()), nil, &found)
	if (len(found.Hits) > 0) == s.hidden {
		s.t.Errorf("%d hits for the word of a turn, hidden %v", len(found.Hits), s.hidden)
	}
}

// rest brings the turn back, or lets its time pass.
func (s *deleteScene) rest(state *transcript.Conversation) {
	if !s.hidden {
		return
	}
	turn := state.Turns[1]
	if turn.User.Message == "" {
		// It took so long to come here that its time is over.
		nowhere(s.t, s.p.dir, s.word())
		return
	}
	since := time.Since(turn.UserAt)
	if s.n%2 == 0 {
		s.undo(-since, func(e *engine) {
			if err := e.chat.RestoreMessage(s.t.Context(), s.chat(), turn.User.Message); err != nil {
				s.t.Errorf("undo within its time: %v", err)
			}
		})
		return
	}
	s.undo(chat.UndoTime, func(e *engine) {
		if err := e.recover(); err != nil {
			s.t.Error(err)
		}
		until(s.t, "the turn is erased", func() bool {
			records := readConversation(s.t, e.log, s.chat())
			return records[turn.UserSeq-1].Kind == "erased"
		})
		if err := e.chat.RestoreMessage(s.t.Context(), s.chat(), turn.User.Message); err == nil {
			s.t.Error("an erased turn was brought back")
		}
	})
	nowhere(s.t, s.p.dir, s.word())
}
