package turnlogtest

import (
	"fmt"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// story writes some turns in some conversations, several groups to a commit,
// and calls committed after each.
func (b *book) story(s turnlog.Store, round int, committed func()) {
	const conversations = 3
	names := func(i int) (id.Conversation, id.Run, id.Message, id.Message) {
		n := fmt.Sprintf("%d.%d", round, i)
		return id.Conversation(fmt.Sprintf("c%d", i)), id.Run("r" + n), id.Message("q" + n), id.Message("a" + n)
	}
	each := func(f func(i int) turnlog.Group) {
		var groups []turnlog.Group
		for i := range conversations {
			groups = append(groups, f(i))
		}
		b.commit(s, groups...)
		committed()
	}
	each(func(i int) turnlog.Group {
		c, r, q, a := names(i)
		return b.group(c, asked(q, fmt.Sprintf("question\nof round %d", round)), started(r, a))
	})
	for k := range 3 {
		each(func(i int) turnlog.Group {
			c, r, _, a := names(i)
			return b.group(c, said(r, a, 2*k, "é"), said(r, a, 2*k+1, "\n"))
		})
	}
	each(func(i int) turnlog.Group {
		c, r, q, a := names(i)
		if i == conversations-1 {
			return b.group(c, fact(event.Title{Title: "named"}))
		}
		if i == 0 && round%2 == 1 {
			return b.group(c, ended(r, a), fact(event.MessageDeleted{Message: q}), fact(event.Unknown{Name: "later", Raw: []byte(`{"x": 1}`)}))
		}
		return b.group(c, ended(r, a))
	})
	b.commands(s, round, committed)
}

// commands goes on with what people do about an answer: tools that they allow,
// messages that wait, deletions taken back or not, an import.
func (b *book) commands(s turnlog.Store, round int, committed func()) {
	n := func(prefix string) string { return fmt.Sprintf("%s%d", prefix, round) }
	c, r, m, call := id.Conversation("t"), id.Run(n("t")), id.Message(n("ta")), id.Call(n("call"))
	write := func(drafts ...turnlog.Draft) {
		b.commit(s, b.group(c, drafts...))
		committed()
	}
	write(attached(id.Message(n("tq")), "act", n("blob")), started(r, m), called(r, m, call, `{"a": 1}`), requested(r, m, call, id.Approval(n("ap"))))
	question := int64(len(b.records[c]) - 3)
	write(queued(event.QueueAdd, id.Run(n("w")), id.Message(n("wq")), "waits", n("waits")))
	write(queued(event.QueueAdd, id.Run(n("v")), id.Message(n("vq")), "waits longer", ""))
	write(resolved(r, m, id.Approval(n("ap")), event.DecisionAllow), returned(r, m, call, "out", n("out")), ended(r, m))
	write(unqueued(event.QueueRemove, id.Run(n("v"))))
	write(unqueued(event.QueueSend, id.Run(n("w"))), asked(id.Message(n("wq")), "waits"), started(id.Run(n("w")), id.Message(n("wa"))))
	write(ended(id.Run(n("w")), id.Message(n("wa"))), fact(event.MessageDeleted{Message: id.Message(n("tq"))}))
	if round%2 == 0 {
		b.erase(s, c, turnlog.Erasure{Seqs: []int64{question}, Runs: []id.Run{r}})
		committed()
	}
	write(fact(event.ConversationDeleted{}))
	if round == 1 {
		b.erase(s, c, turnlog.Erasure{Through: int64(len(b.records[c]) - 1)})
		committed()
	}
	write(fact(event.ConversationRestored{}))
	i := id.Conversation(n("i"))
	b.imports(s, b.group(i, asked("iq", "brought along"), started(id.Run(n("i")), "ia"), said(id.Run(n("i")), "ia", 0, "é"), ended(id.Run(n("i")), "ia")))
	committed()
}
