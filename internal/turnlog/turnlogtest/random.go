package turnlogtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// testRandom does what people and agents do to a few conversations, in any
// order, and compares the store with the book after each step.
func testRandom(t *testing.T, subject Subject) {
	seeds, steps := 2, 40
	if long() {
		seeds, steps = 20, 300
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			b := newBook(t)
			dir := t.TempDir()
			// Nothing is cut off here, and syncs take time.
			disk := newDisk(t, subject)
			s := mustOpen(t, subject, dir, Options{Disk: disk})
			p := newPlayer(b, seed)
			for range steps {
				what := p.step(s)
				if b.holds(t, s); t.Failed() {
					t.Fatalf("this was after %q", what)
				}
				switch p.rnd.IntN(15) {
				case 0:
					mustClose(t, s)
					s = mustOpen(t, subject, dir, Options{Disk: disk})
				case 1:
					if reindexed(t, subject, s, b); t.Failed() {
						t.Fatalf("this was after %q", what)
					}
				}
			}
		})
	}
}

// player knows enough of some conversations to do only what a log is asked to
// hold.
type player struct {
	b     *book
	rnd   *rand.Rand
	chats []*chat
	n     int
}

// chat is a conversation of a player.
type chat struct {
	name      id.Conversation
	questions []*question
	deletions []int64 // that are not erased
	run       *question
	waiting   []id.Run
	texts     map[id.Run]string // of those that wait
	gone      bool              // deleted, with nothing new since
}

// question is a turn.
type question struct {
	message, answer id.Message
	seq             int64
	runs            []id.Run
	deleted, erased bool
	deletion        int64 // of the conversation that took it, 0 for none
	said            int
	call            id.Call // that runs
	approval        id.Approval
}

func newPlayer(b *book, seed uint64) *player {
	p := &player{b: b, rnd: rand.New(rand.NewPCG(seed, 7))}
	for i := range 3 {
		p.chats = append(p.chats, &chat{name: id.Conversation(fmt.Sprint("p", i)), texts: map[id.Run]string{}})
	}
	return p
}

func (p *player) next(prefix string) string {
	p.n++
	return fmt.Sprint(prefix, p.n)
}

// step does one thing in one conversation and says what.
func (p *player) step(s turnlog.Store) string {
	c := p.chats[p.rnd.IntN(len(p.chats))]
	steps := []struct {
		name   string
		weight int
		do     func(turnlog.Store, *chat) bool
	}{
		{"send", 6, p.send}, {"say", 6, p.say}, {"tool", 4, p.tool}, {"end", 6, p.end}, {"regenerate", 2, p.regenerate},
		{"queue", 4, p.enqueue}, {"dequeue", 3, p.dequeue}, {"set", 3, p.set},
		{"delete", 3, p.deleteTurn}, {"restore", 2, p.restoreTurn}, {"erase", 2, p.eraseTurn},
		{"delete all", 2, p.deleteAll}, {"restore all", 2, p.restoreAll}, {"erase all", 2, p.eraseAll},
	}
	total := 0
	for _, step := range steps {
		total += step.weight
	}
	for {
		k := p.rnd.IntN(total)
		for _, step := range steps {
			if k -= step.weight; k < 0 {
				if step.do(s, c) {
					return step.name + " in " + string(c.name)
				}
				break
			}
		}
	}
}

func (p *player) write(s turnlog.Store, c *chat, drafts ...turnlog.Draft) {
	p.b.commit(s, p.b.group(c.name, drafts...))
}

func (p *player) head(c *chat) int64 { return int64(len(p.b.records[c.name])) }

func (p *player) send(s turnlog.Store, c *chat) bool {
	if c.run != nil {
		return false
	}
	run := id.Run(p.next("r"))
	text := p.next("text ")
	var sent []turnlog.Draft
	if len(c.waiting) > 0 {
		run, c.waiting = c.waiting[0], c.waiting[1:]
		text = c.texts[run]
		sent = append(sent, unqueued(event.QueueSend, run))
	}
	q := &question{message: id.Message(p.next("q")), answer: id.Message(p.next("a")), seq: p.head(c) + int64(len(sent)) + 1, runs: []id.Run{run}}
	p.write(s, c, append(sent, attached(q.message, text, p.next("blob")), started(run, q.answer))...)
	c.questions, c.run, c.gone = append(c.questions, q), q, false
	return true
}

func (p *player) running(c *chat) (id.Run, id.Message) {
	return c.run.runs[len(c.run.runs)-1], c.run.answer
}

func (p *player) say(s turnlog.Store, c *chat) bool {
	if c.run == nil {
		return false
	}
	r, m := p.running(c)
	var drafts []turnlog.Draft
	for range 1 + p.rnd.IntN(4) {
		drafts = append(drafts, said(r, m, c.run.said, "é"))
		c.run.said += 2
	}
	p.write(s, c, drafts...)
	return true
}

func (p *player) tool(s turnlog.Store, c *chat) bool {
	if c.run == nil {
		return false
	}
	r, m := p.running(c)
	switch {
	case c.run.call == "":
		c.run.call, c.run.approval = id.Call(p.next("call")), id.Approval(p.next("ap"))
		p.write(s, c, called(r, m, c.run.call, `{"a":1}`), requested(r, m, c.run.call, c.run.approval))
	case c.run.approval != "":
		p.write(s, c, resolved(r, m, c.run.approval, event.DecisionAllow))
		c.run.approval = ""
	default:
		p.write(s, c, returned(r, m, c.run.call, "output", p.next("blob")))
		c.run.call = ""
	}
	return true
}

func (p *player) end(s turnlog.Store, c *chat) bool {
	if c.run == nil {
		return false
	}
	p.write(s, c, p.ending(c)...)
	return true
}

// ending closes what runs.
func (p *player) ending(c *chat) (drafts []turnlog.Draft) {
	r, m := p.running(c)
	if c.run.approval != "" {
		drafts = append(drafts, resolved(r, m, c.run.approval, event.DecisionCancelled))
	}
	if c.run.call != "" {
		drafts = append(drafts, returned(r, m, c.run.call, "did not run", ""))
	}
	end := ended(r, m)
	if p.rnd.IntN(3) == 0 {
		end = cancelled(r, m)
	}
	c.run.call, c.run.approval, c.run = "", "", nil
	return append(drafts, end)
}

func (p *player) regenerate(s turnlog.Store, c *chat) bool {
	q := p.pick(c, func(q *question) bool { return !q.deleted && q.deletion == 0 })
	if q == nil || c.run != nil {
		return false
	}
	run := id.Run(p.next("r"))
	p.write(s, c, again(run, q.answer, q.message))
	q.runs, q.said, c.run = append(q.runs, run), 0, q
	return true
}

// pick returns one of the questions that are not erased, and nil when none
// fits.
func (p *player) pick(c *chat, fits func(*question) bool) *question {
	var all []*question
	for _, q := range c.questions {
		if !q.erased && fits(q) {
			all = append(all, q)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[p.rnd.IntN(len(all))]
}

func (p *player) enqueue(s turnlog.Store, c *chat) bool {
	if c.run == nil || len(c.waiting) > 3 {
		return false
	}
	run, text := id.Run(p.next("r")), p.next("waits ")
	c.waiting, c.texts[run] = append(c.waiting, run), text
	p.write(s, c, queued(event.QueueAdd, run, id.Message(p.next("q")), text, p.next("blob")))
	return true
}

func (p *player) dequeue(s turnlog.Store, c *chat) bool {
	if len(c.waiting) == 0 {
		return false
	}
	i := p.rnd.IntN(len(c.waiting))
	run := c.waiting[i]
	if p.rnd.IntN(2) == 0 {
		p.write(s, c, queued(event.QueueEdit, run, id.Message(p.next("q")), p.next("changed "), p.next("blob")))
		return true
	}
	c.waiting = append(c.waiting[:i:i], c.waiting[i+1:]...)
	p.write(s, c, unqueued(event.QueueRemove, run))
	return true
}

func (p *player) set(s turnlog.Store, c *chat) bool {
	yes, seen, name := p.rnd.IntN(2) == 0, p.head(c), p.next("name ")
	facts := []event.Event{
		event.Title{Title: name}, event.Settings{Pinned: &yes}, event.Settings{Archived: &yes}, event.Settings{Project: &name},
		event.Settings{Model: &name, Read: &seen}, event.Unknown{Name: "later", Raw: []byte(`{}`)},
	}
	p.write(s, c, fact(facts[p.rnd.IntN(len(facts))]))
	return true
}
