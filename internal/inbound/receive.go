package inbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/surface"
)

// MaxWaiting is how many messages of one chat may wait to be passed on, beside
// those in the queue of their conversation.
const MaxWaiting = 100

var errTooMany = fmt.Errorf("%d messages of this chat wait already; nothing was taken", MaxWaiting)

// identity is a message as its platform knows it.
type identity struct{ chat, id string }

// call is a Receive under way.
type call struct {
	done chan struct{}
	ack  surface.Ack
	err  error
}

// Receive takes a message. When it returns without an error, what becomes of the
// message doesn't depend on this process any more. The same message again, also
// while the first call is under way, gives the same Ack; its Run is filled in once
// it is known, which is at once for a Signed message.
//
// In a group, what is not said to the bot gives an empty Ack and leaves no trace,
// and so does a message of somebody who may not talk. A message of which nothing
// can be taken, and a command, give an Ack without Conversation and Run.
func (in *Inbox) Receive(ctx context.Context, m surface.Message) (surface.Ack, error) {
	if err := in.begin(); err != nil {
		return surface.Ack{}, err
	}
	defer in.all.Done()
	if m.ID == "" {
		return in.take(ctx, m)
	}
	key := identity{m.Chat.ID, m.ID}
	for {
		c, mine := in.claim(key)
		if mine {
			c.ack, c.err = in.takeOnce(ctx, m)
			in.giveUp(key, c)
			return c.ack, c.err
		}
		select {
		case <-c.done:
		case <-ctx.Done():
			return surface.Ack{}, ctx.Err()
		}
		// If the first one came to nothing, this one is the first.
		if c.err == nil {
			return c.ack, nil
		}
	}
}

func (in *Inbox) claim(key identity) (c *call, mine bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if c = in.calls[key]; c != nil {
		return c, false
	}
	c = &call{done: make(chan struct{})}
	in.calls[key] = c
	return c, true
}

func (in *Inbox) giveUp(key identity, c *call) {
	in.mu.Lock()
	delete(in.calls, key)
	in.mu.Unlock()
	close(c.done)
}

// takeOnce takes a message unless it was taken before.
func (in *Inbox) takeOnce(ctx context.Context, m surface.Message) (surface.Ack, error) {
	known, ok, err := in.opt.Store.Received(ctx, in.opt.Surface, m.Chat.ID, m.ID)
	switch {
	case err != nil:
		return surface.Ack{}, fmt.Errorf("look for the message: %w", err)
	case !ok:
		return in.take(ctx, m)
	case known.State == delivery.InboundDone:
		return ackOf(known), nil
	}
	return in.readopt(ctx, known)
}

// readopt answers for a message that is stored and not done. The store may have
// taken it although it returned an error; then no lane knows of it yet.
func (in *Inbox) readopt(ctx context.Context, m delivery.Inbound) (surface.Ack, error) {
	l, release, err := in.enter(ctx, m.Address)
	if err != nil {
		return surface.Ack{}, err
	}
	defer release()
	if l.knows(m.Delivery) {
		return ackOf(m), nil
	}
	m, ok, err := in.opt.Store.Received(ctx, m.Surface, m.Chat.ID, m.ID)
	if err != nil {
		return surface.Ack{}, fmt.Errorf("look for the message: %w", err)
	}
	if ok && m.State != delivery.InboundDone {
		l.adopt(m)
	}
	return ackOf(m), nil
}

// ackOf is the answer for a message. A command and a message of which nothing was
// taken have no run when they are taken or done.
func ackOf(m delivery.Inbound) surface.Ack {
	a := surface.Ack{Delivery: m.Delivery}
	if m.Run != "" || m.State == delivery.InboundWaiting {
		a.Conversation, a.Run = string(m.Conversation), string(m.Run)
	}
	return a
}

// take takes a message that was not taken before.
func (in *Inbox) take(ctx context.Context, m surface.Message) (surface.Ack, error) {
	var c command
	var isCommand bool
	if !m.Signed {
		var err error
		if c, isCommand, err = in.commandIn(ctx, m); err != nil {
			return surface.Ack{}, err
		}
	}
	toUs := m.Direct || m.Mentioned || m.Signed || isCommand && c.known() && c.bot == ""
	switch {
	case !toUs:
		return surface.Ack{}, nil
	case m.Signed || in.mayTalk(m.Sender) || isCommand && c.decides() && names(in.opt.MayDecide, m.Sender):
	default:
		in.turnAway(ctx, m, m.Direct || m.Mentioned || c.decides())
		return surface.Ack{}, nil
	}
	if isCommand {
		return in.takeCommand(ctx, m, c)
	}
	return in.takeMessage(ctx, m)
}

// turnAway tells a sender who may not talk what to do about it, where the message
// was clearly meant for us.
func (in *Inbox) turnAway(ctx context.Context, m surface.Message, toUs bool) {
	if !toUs || !in.mayTell(m.Sender.ID) {
		return
	}
	in.opt.Logger.Info("a sender who may not talk was turned away", "chat", m.Chat.ID, "sender", m.Sender.ID)
	who := quoted(m.Sender.ID)
	text := fmt.Sprintf("%s may not talk to this agent, so nothing was done. Its owner can add %s to `may_talk` of the surface %s.", who, who, quoted(in.opt.Surface))
	hour := in.opt.Now().UTC().Truncate(refusalPause).Format(time.RFC3339)
	in.trySay(ctx, in.address(m.Chat), "turned_away", m.Sender.ID+" "+hour, text)
}

// row is a message as it is stored.
func (in *Inbox) row(m surface.Message) delivery.Inbound {
	return delivery.Inbound{
		Delivery: in.delivery(), Address: in.address(m.Chat), ID: m.ID, At: in.opt.Now().UTC(), Sender: m.Sender,
	}
}

// takeMessage takes what the model is to be told.
func (in *Inbox) takeMessage(ctx context.Context, m surface.Message) (surface.Ack, error) {
	what, err := in.look(ctx, m)
	if err != nil {
		return surface.Ack{}, err
	}
	r := in.row(m)
	l, release, err := in.enter(ctx, r.Address)
	if err != nil {
		return surface.Ack{}, err
	}
	defer release()
	switch {
	case l.waiting() < MaxWaiting:
	case m.Signed:
		return surface.Ack{}, errTooMany
	default:
		what = content{refused: []string{fmt.Sprintf("%d messages of this chat wait already; send it again when some were answered", MaxWaiting)}}
	}
	// Told first: if the process dies now, the message comes again and this line
	// doesn't.
	if err := in.say(ctx, r.Address, "not_taken", about(m, r.Delivery), what.told()); err != nil {
		return surface.Ack{}, err
	}
	if what.empty() {
		r.State = delivery.InboundDone
		return in.add(ctx, l, r)
	}
	r.Text, r.Files = what.text, what.files
	if r.Conversation, err = in.conversation(ctx, m); err != nil {
		return surface.Ack{}, fmt.Errorf("find the conversation: %w", err)
	}
	if m.Signed {
		return l.takeSigned(ctx, r)
	}
	r.State = delivery.InboundWaiting
	ack, err := in.add(ctx, l, r)
	if err == nil && ack.Delivery == r.Delivery {
		l.join(r, time.Now(), false)
	}
	return ack, err
}

// add stores a message for the first time. The lane is held.
func (in *Inbox) add(ctx context.Context, l *lane, r delivery.Inbound) (surface.Ack, error) {
	// What is done must be stored as done before what comes after it is stored at
	// all, or a crash could carry out an old command on new messages.
	if err := l.settle(ctx); err != nil {
		return surface.Ack{}, err
	}
	err := in.opt.Store.AddInbound(ctx, r)
	if errors.Is(err, delivery.ErrReceived) {
		known, ok, err := in.opt.Store.Received(ctx, r.Surface, r.Chat.ID, r.ID)
		if err == nil && !ok {
			err = delivery.ErrReceived
		}
		return ackOf(known), err
	}
	if err != nil {
		return surface.Ack{}, fmt.Errorf("store the message: %w", err)
	}
	return ackOf(r), nil
}
