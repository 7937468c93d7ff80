package turnlogtest

import (
	"verbatim/internal/event"
	"verbatim/internal/turnlog"
)

// shown reports whether a turn was not deleted, nor its conversation.
func shown(q *question) bool { return !q.deleted && q.deletion == 0 }

func (p *player) deleteTurn(s turnlog.Store, c *chat) bool {
	q := p.pick(c, shown)
	if q == nil {
		return false
	}
	var drafts []turnlog.Draft
	if c.run == q {
		drafts = p.ending(c)
	}
	q.deleted = true
	p.write(s, c, append(drafts, fact(event.MessageDeleted{Message: q.message}))...)
	return true
}

func (p *player) restoreTurn(s turnlog.Store, c *chat) bool {
	q := p.pick(c, func(q *question) bool { return q.deleted && q.deletion == 0 })
	if q == nil {
		return false
	}
	q.deleted = false
	p.write(s, c, fact(event.MessageRestored{Message: q.message}))
	return true
}

func (p *player) eraseTurn(s turnlog.Store, c *chat) bool {
	q := p.pick(c, func(q *question) bool { return q.deleted })
	if q == nil {
		return false
	}
	q.erased = true
	p.b.erase(s, c.name, turnlog.Erasure{Seqs: []int64{q.seq}, Runs: q.runs})
	return true
}

// deleteAll deletes a conversation as people can: its run and its queue end
// first.
func (p *player) deleteAll(s turnlog.Store, c *chat) bool {
	if c.gone || len(c.questions) == 0 {
		return false
	}
	var drafts []turnlog.Draft
	if c.run != nil {
		drafts = p.ending(c)
	}
	for _, run := range c.waiting {
		drafts = append(drafts, unqueued(event.QueueRemove, run))
	}
	c.waiting, c.gone = nil, true
	p.write(s, c, append(drafts, fact(event.ConversationDeleted{}))...)
	deletion := p.head(c)
	c.deletions = append(c.deletions, deletion)
	for _, q := range c.questions {
		if q.deletion == 0 {
			q.deletion = deletion
		}
	}
	return true
}

func (p *player) restoreAll(s turnlog.Store, c *chat) bool {
	n := len(c.deletions)
	if n == 0 {
		return false
	}
	p.write(s, c, fact(event.ConversationRestored{}))
	for _, q := range c.questions {
		if q.deletion == c.deletions[n-1] {
			q.deletion = 0
		}
	}
	// Only the last one can be undone, and once.
	c.deletions, c.gone = nil, false
	return true
}

func (p *player) eraseAll(s turnlog.Store, c *chat) bool {
	if len(c.deletions) == 0 {
		return false
	}
	through := c.deletions[0] - 1
	c.deletions = c.deletions[1:]
	for _, q := range c.questions {
		q.erased = q.erased || q.seq <= through
	}
	p.b.erase(s, c.name, turnlog.Erasure{Through: through})
	return true
}
