package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"verbatim/internal/chat"
	"verbatim/internal/delivery"
	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/turnlog"
)

// planNew decides what /new makes, so that it makes the same when it is carried
// out twice: the arguments are the base and the number of the conversation, and a
// plus sign where more was written behind the command.
func (in *Inbox) planNew(ctx context.Context, m surface.Message, more string) (string, error) {
	base := in.base(m)
	n, err := in.number(ctx, base)
	plan := string(base) + " " + strconv.Itoa(n+1)
	if more != "" {
		plan += " +"
	}
	return plan, err
}

// begin carries out /new.
func (l *lane) begin(ctx context.Context, r delivery.Inbound, plan string) (line string, err error) {
	plan, more := strings.CutSuffix(plan, " +")
	text, tail, _ := strings.Cut(plan, " ")
	n, bad := strconv.Atoi(tail)
	if bad != nil || n < 1 {
		l.in.opt.Logger.Error("a stored command can't be read", "delivery", r.Delivery, "err", bad)
		return "", nil
	}
	base := id.Conversation(text)
	now, err := l.in.number(ctx, base)
	if err != nil || now > n {
		// A later /new was carried out already.
		return "", err
	}
	dropped, _, err := l.halt(ctx, r, numbered(base, n-1))
	if err != nil {
		return "", err
	}
	if now < n {
		if err := l.in.setNumber(ctx, base, n); err != nil {
			return "", fmt.Errorf("store the new conversation: %w", err)
		}
	}
	if _, err := l.in.opt.Store.Bind(ctx, l.to, numbered(base, n)); err != nil {
		return "", fmt.Errorf("bind the chat to the new conversation: %w", err)
	}
	line = "A new conversation begins here." + unsent(dropped)
	if more {
		line += " What you wrote behind the command was not passed on; write it as a message."
	}
	return line, nil
}

// stop carries out /stop.
func (l *lane) stop(ctx context.Context, r delivery.Inbound) (line string, err error) {
	dropped, running, err := l.halt(ctx, r, r.Conversation)
	switch {
	case err != nil:
		return "", err
	case dropped > 0:
		return strings.TrimSpace(unsent(dropped)), nil
	case running:
		// The end of the run says so itself.
		return "", nil
	}
	return "Nothing is running here.", nil
}

func unsent(n int) string {
	if n == 0 {
		return ""
	}
	verb := "were"
	if n == 1 {
		verb = "was"
	}
	return fmt.Sprintf(" %s that waited %s taken out and will not be answered; send again what you still want.", counted(n, "message", "messages"), verb)
}

// halt stops a conversation's run and takes out unsent what waits for it, here
// and in its queue.
func (l *lane) halt(ctx context.Context, r delivery.Inbound, c id.Conversation) (dropped int, running bool, err error) {
	via := l.in.via(r.Chat, r.Sender)
	for _, t := range slices.Clone(l.turns) {
		if t.queued || t.conversation() != c {
			continue
		}
		sent, err := l.sent(ctx, t)
		if err != nil {
			return 0, false, err
		}
		if !sent {
			dropped += len(t.rows)
		}
		l.drop(t)
	}
	if err := l.settle(ctx); err != nil {
		return 0, false, err
	}
	state, err := l.in.facts(ctx, c)
	if err != nil {
		return 0, false, err
	}
	dropped += len(state.Queue)
	if run := state.Open(); run != nil {
		running = true
		err := l.in.opt.Chat.Cancel(ctx, run.ID, by(r.Sender), via)
		if err != nil && !errors.Is(err, turnlog.ErrNoRun) {
			return 0, false, fmt.Errorf("stop run %s: %w", run.ID, err)
		}
	}
	// What a stop leaves in the queue is what waited without a run before it.
	for _, q := range state.Queue {
		err := l.in.opt.Chat.RemoveQueued(ctx, c, q.Run, via)
		if err != nil && codeOf(err) != chat.Missing {
			return 0, false, fmt.Errorf("take run %s out of the queue: %w", q.Run, err)
		}
	}
	// Nothing is in the way of what comes next any more.
	l.retry, l.pause, l.told = time.Time{}, 0, ""
	return dropped, running, nil
}

// sendAgain carries out /again.
func (l *lane) sendAgain(ctx context.Context) (line string, err error) {
	n, err := l.in.opt.Again(ctx, l.to)
	switch {
	case err != nil:
		return "", fmt.Errorf("send again what may be missing: %w", err)
	case n == 0:
		return "Nothing is missing here.", nil
	}
	return counted(n, "post", "posts") + " sent again.", nil
}

// model carries out /model.
func (l *lane) model(ctx context.Context, r delivery.Inbound, name string) (line string, err error) {
	state, err := l.in.facts(ctx, r.Conversation)
	if err != nil {
		return "", err
	}
	if name == "" {
		return "The model here is " + l.in.modelName(ctx, state.Model) + ".", nil
	}
	own := name
	if strings.EqualFold(name, "default") {
		own = ""
	}
	full, why := l.namedModel(ctx, own)
	if why != "" {
		return "The model here stays as it is: " + why, nil
	}
	err = l.in.opt.Chat.Change(ctx, r.Conversation, chat.Patch{Model: &own})
	switch codeOf(err) {
	case chat.Missing:
		return "This conversation has no messages yet. Write one, then choose the model.", nil
	case chat.Invalid:
		return "The model here stays as it is: " + err.Error(), nil
	default:
		if err != nil {
			return "", fmt.Errorf("choose the model: %w", err)
		}
		return "From the next message on the model here is " + quoted(full) + ".", nil
	}
}

// modelName is the model that answers, for people.
func (in *Inbox) modelName(ctx context.Context, own string) string {
	full, err := in.opt.Model(ctx, own)
	if err != nil {
		return quoted(own) + ", which can't answer: " + err.Error()
	}
	return quoted(full)
}

// status carries out /status.
func (l *lane) status(ctx context.Context, r delivery.Inbound) (line string, err error) {
	state, err := l.in.facts(ctx, r.Conversation)
	if err != nil {
		return "", err
	}
	lines := []string{"Model: " + l.in.modelName(ctx, state.Model) + "."}
	if state.Open() != nil {
		lines = append(lines, "An answer is being written.")
	} else {
		lines = append(lines, "Nothing is running.")
	}
	if n := len(state.Queue) + l.waiting(); n > 0 {
		wait := counted(n, "message waits.", "messages wait.")
		if state.Held {
			wait += " The last answer failed, so they wait until you write something."
		}
		lines = append(lines, wait)
	}
	waiting, err := l.in.waitingIn(ctx, l.to)
	if err != nil {
		return "", err
	}
	for _, p := range waiting {
		lines = append(lines, "A decision is needed: "+labelled(waiting, p)+".")
	}
	unsure, err := l.in.opt.Store.Unsure(ctx, l.to)
	if err != nil {
		return "", fmt.Errorf("look for what may be missing: %w", err)
	}
	if n := len(unsure); n > 0 {
		lines = append(lines, counted(n, "post", "posts")+" of the last answer may not have arrived; `/again` sends again.")
	}
	return strings.Join(lines, "\n"), nil
}

// namedModel returns the full name of a model, or why it can't be used.
func (l *lane) namedModel(ctx context.Context, own string) (full, why string) {
	full, err := l.in.opt.Model(ctx, own)
	if err != nil {
		return "", err.Error()
	}
	return full, ""
}
