package transcript

import (
	"fmt"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Check lists what is wrong with the records of one conversation, from its
// first on: one line for each broken invariant, none when all hold. A run may
// still be going on at the end. It does not use the fold, so that each is a
// test of the other. Records of unknown kinds must only keep their place; a
// run with erased records is held to what is left of it.
func Check(records []event.Record) []string {
	c := checker{
		runs: map[id.Run]*runCheck{}, calls: map[id.Call]id.Run{}, approvals: map[id.Approval]bool{},
		users: map[id.Message]int{}, answers: map[id.Message]id.Message{},
	}
	for _, r := range records {
		c.record(r)
	}
	if c.asked != "" {
		c.found("message %s is not followed by the start of its run", c.asked)
	}
	return c.findings
}

type checker struct {
	findings []string
	at       event.Record // being looked at
	last     event.Record // the one before

	runs      map[id.Run]*runCheck
	open      *runCheck
	calls     map[id.Call]id.Run
	approvals map[id.Approval]bool
	// users counts the runs of each user message's turn, answers maps it to
	// the assistant message.
	users   map[id.Message]int
	answers map[id.Message]id.Message
	// asked is the user message in the record before, empty when that was
	// something else.
	asked  id.Message
	erased bool
}

func (c *checker) found(format string, args ...any) {
	c.findings = append(c.findings, fmt.Sprintf("%d %s: ", c.at.Seq, c.at.Kind)+fmt.Sprintf(format, args...))
}

func (c *checker) record(r event.Record) {
	c.at = r
	if r.Seq != c.last.Seq+1 {
		c.found("seq %d follows %d", r.Seq, c.last.Seq)
	}
	if c.last.Seq > 0 && r.Conversation != c.last.Conversation {
		c.found("conversation %s among those of %s", r.Conversation, c.last.Conversation)
	}
	if r.At.Before(c.last.At) {
		c.found("time goes back")
	}
	c.last = r
	asked := c.asked
	c.asked = ""
	ev, err := r.Event()
	if err != nil {
		c.found("unreadable: %v", err)
		return
	}
	start, isStart := ev.(event.Start)
	// A copy may end with a question whose answer was left out.
	_, copied := ev.(event.ForkedFrom)
	if asked != "" && !copied && (!isStart || start.Retry || start.RegenerateOf != "") {
		c.found("message %s is not followed by the start of its run", asked)
	}
	if !c.belongs(r, ev) {
		return
	}
	switch {
	case isStart:
		c.start(r, start, asked)
	case r.Run != "":
		c.ofRun(r, ev)
	default:
		c.fact(ev)
	}
}

// belongs reports whether the record names a run exactly if its kind is of one.
func (c *checker) belongs(r event.Record, ev event.Event) bool {
	if e, ok := ev.(event.Erased); ok {
		c.erased = true
		if run := c.runs[r.Run]; run != nil {
			run.erased = true
			if spec, _ := event.Lookup(e.Was); spec.Terminal {
				c.finish(run)
			}
		}
		return false
	}
	spec, known := event.Lookup(r.Kind)
	if !known {
		return false
	}
	if (r.Run != "") != spec.Run || (r.Message != "") != spec.Run {
		c.found("run %q and message %q do not fit the kind", r.Run, r.Message)
		return false
	}
	return true
}

func (c *checker) fact(ev event.Event) {
	switch ev := ev.(type) {
	case event.UserMessage:
		if _, known := c.users[ev.Message]; known || ev.Message == "" {
			c.found("message id %q is used again", ev.Message)
		}
		if c.open != nil {
			c.found("run %s is going on", c.open.id)
		}
		c.users[ev.Message] = 0
		c.asked = ev.Message
	case event.VersionActive:
		if run := c.runs[ev.Run]; run == nil || run.message != ev.Message {
			c.found("run %s is no version of message %s", ev.Run, ev.Message)
		}
	case event.ConversationDeleted:
		if c.open != nil {
			c.found("run %s is going on", c.open.id)
		}
	}
}

func (c *checker) start(r event.Record, ev event.Start, asked id.Message) {
	if run := c.runs[r.Run]; run != nil {
		c.retry(run, r, ev)
		return
	}
	if c.open != nil {
		c.found("run %s is going on", c.open.id)
	}
	user := ev.RegenerateOf
	switch {
	case ev.Retry:
		c.found("a retry of a run that did not start")
	case user == "" && asked == "":
		if !c.erased {
			c.found("run %s has no question", r.Run)
		}
	case user == "":
		user = asked
	}
	c.version(r, ev, user)
	run := newRunCheck(c, r)
	c.runs[r.Run], c.open = run, run
}

func (c *checker) version(r event.Record, ev event.Start, user id.Message) {
	if _, known := c.users[user]; !known {
		if user != "" && !c.erased {
			c.found("message %s was never asked", user)
		}
		return
	}
	c.users[user]++
	if ev.Version != c.users[user] {
		c.found("version %d is number %d", ev.Version, c.users[user])
	}
	if answer, ok := c.answers[user]; ok && answer != r.Message {
		c.found("versions of one answer are of messages %s and %s", answer, r.Message)
	}
	c.answers[user] = r.Message
}

func (c *checker) retry(run *runCheck, r event.Record, ev event.Start) {
	if !ev.Retry || run.retried || run.begun || run.ended || r.Message != run.message {
		c.found("a second start of run %s", r.Run)
	}
	run.retried = true
}

func (c *checker) ofRun(r event.Record, ev event.Event) {
	run := c.runs[r.Run]
	if run == nil {
		if !c.erased {
			c.found("run %s has not started", r.Run)
		}
		return
	}
	if run.ended {
		c.found("run %s has ended", r.Run)
		return
	}
	if r.Message != run.message {
		c.found("message %s is not that of its run, %s", r.Message, run.message)
	}
	run.begun = true
	run.event(ev)
	if spec, _ := event.Lookup(r.Kind); spec.Terminal {
		run.closed()
		c.finish(run)
	}
}

func (c *checker) finish(run *runCheck) {
	run.ended = true
	if c.open == run {
		c.open = nil
	}
}
