package inbound

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"verbatim/internal/attachment"
	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
)

const (
	// burstGap is how soon after the last one a message of the same sender
	// belongs to the same turn, burstMost how soon after the first one.
	burstGap  = 350 * time.Millisecond
	burstMost = time.Second
)

// turn is what becomes, or became, one turn of a conversation.
type turn struct {
	rows []delivery.Inbound // at least one, in order
	// first and last are when messages came that are still being collected.
	first, last time.Time
	// ripe says that nothing is collected any more.
	ripe bool
	// run is empty while messages are collected; stored says that it is kept
	// with them.
	run    id.Run
	stored bool
	// unsure says that the turn may have been sent before; queued that it was,
	// and waits in its conversation.
	unsure, queued bool
}

// end is when no more messages are collected.
func (t *turn) end() time.Time {
	end := t.first.Add(burstMost)
	if gap := t.last.Add(burstGap); gap.Before(end) {
		return gap
	}
	return end
}

// due is when a turn is to be passed on: the zero time for one that is complete.
func (t *turn) due() time.Time {
	if t.run != "" || t.ripe {
		return time.Time{}
	}
	return t.end()
}

// takes reports whether a message that comes at a time belongs to the turn.
func (t *turn) takes(r delivery.Inbound, at time.Time) bool {
	head := t.rows[0]
	if t.run != "" || head.Sender.ID != r.Sender.ID || head.Conversation != r.Conversation || !at.Before(t.end()) {
		return false
	}
	files, size := len(r.Files), len(r.Text)
	for _, o := range t.rows {
		files += len(o.Files)
		size += len(o.Text) + len("\n")
	}
	return files <= attachment.MaxFiles && size <= chat.MaxPromptBytes
}

// join adds a message to the turn that its sender has begun, or begins one. ripe
// says that it has waited long enough, and at is then when it came.
func (l *lane) join(r delivery.Inbound, at time.Time, ripe bool) {
	for _, t := range slices.Backward(l.turns) {
		if t.run == "" && t.rows[0].Sender.ID != r.Sender.ID {
			continue
		}
		if t.ripe == ripe && t.takes(r, at) {
			t.rows, t.last = append(t.rows, r), at
			return
		}
		break
	}
	l.turns = append(l.turns, &turn{rows: []delivery.Inbound{r}, first: at, last: at, ripe: ripe})
}

// text is what the messages say, in order.
func (t *turn) text() string {
	var parts []string
	for _, r := range t.rows {
		if r.Text != "" {
			parts = append(parts, r.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func (t *turn) conversation() id.Conversation { return t.rows[0].Conversation }

// via is the way of its messages.
func (t *turn) via(in *Inbox) event.Via {
	return in.via(t.rows[0].Chat, t.rows[0].Sender)
}

// request is what is sent. It names the last message, which is what an answer
// replies to.
func (t *turn) request(in *Inbox) chat.SendRequest {
	var files []event.Attachment
	for _, r := range t.rows {
		for _, f := range r.Files {
			f.ID = fileID(len(files) + 1)
			files = append(files, f)
		}
	}
	return chat.SendRequest{
		Conversation: t.conversation(), Run: t.run, Prompt: t.text(), Attached: files,
		Via: t.via(in), Client: t.rows[len(t.rows)-1].ID,
	}
}

// mark writes the run, and that the turn is made up, into its messages.
func (t *turn) mark(run id.Run) {
	t.run, t.stored = run, false
	for i := range t.rows {
		t.rows[i].Run, t.rows[i].State = run, delivery.InboundTaken
	}
}

// A turn that is made up again, because a message was taken out of it while it
// waited, has the run id of the one before with .2 behind, then .3, and so on. So
// whoever finds it knows which one it replaces.

// succeeding returns the run id of the turn that replaces one.
func succeeding(run id.Run) id.Run {
	head, n := numberOf(run)
	return id.Run(head + "." + strconv.Itoa(n+1))
}

// preceding returns the run id of the turn that one replaces, empty for none.
func preceding(run id.Run) id.Run {
	head, n := numberOf(run)
	switch n {
	case 1:
		return ""
	case 2:
		return id.Run(head)
	}
	return id.Run(head + "." + strconv.Itoa(n-1))
}

func numberOf(run id.Run) (head string, n int) {
	head, tail, found := strings.Cut(string(run), ".")
	if n, err := strconv.Atoi(tail); found && err == nil && n > 1 {
		return head, n
	}
	return head, 1
}
