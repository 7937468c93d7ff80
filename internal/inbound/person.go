package inbound

import (
	"context"
	"slices"
	"strings"
	"time"

	"verbatim/internal/id"
	"verbatim/internal/surface"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

const (
	// refusalPause is how long a sender who may not talk is not told so again.
	refusalPause = time.Hour
	// maxRefused is how many of them are told within that time.
	maxRefused = 1000
)

// names reports whether a list names a person. Names with an @ are compared
// without case, as the platforms do that have them.
func names(list []string, p surface.Person) bool {
	is := func(name string) bool {
		return slices.ContainsFunc(list, func(entry string) bool {
			return entry == name || strings.Contains(name, "@") && strings.EqualFold(entry, name)
		})
	}
	return slices.Contains(list, "*") || p.ID != "" && is(p.ID) || slices.ContainsFunc(p.Other, func(n string) bool { return n != "" && is(n) })
}

func (in *Inbox) mayTalk(p surface.Person) bool { return names(in.opt.MayTalk, p) }

// mayDecide reports whether a person may decide about a request of a run. It is
// the one rule for every way in which a decision comes.
func (in *Inbox) mayDecide(ctx context.Context, p surface.Person, c id.Conversation, run id.Run) (bool, error) {
	if len(in.opt.MayDecide) > 0 {
		return names(in.opt.MayDecide, p), nil
	}
	if p.ID == "" || !in.mayTalk(p) {
		return false, nil
	}
	state, err := in.facts(ctx, c)
	if err != nil {
		return false, err
	}
	t := turnOf(state, run)
	return t != nil && t.User.Via.Surface == in.opt.Surface && t.User.Via.Sender == p.ID, nil
}

// facts folds the structure of a conversation.
func (in *Inbox) facts(ctx context.Context, c id.Conversation) (*transcript.Conversation, error) {
	state := &transcript.Conversation{ID: c}
	for {
		records, err := in.opt.Log.Facts(ctx, c, state.Seq, turnlog.Limit{})
		if err != nil || len(records) == 0 {
			return state, err
		}
		for _, r := range records {
			if err := state.Apply(r); err != nil {
				return nil, err
			}
		}
	}
}

func turnOf(state *transcript.Conversation, run id.Run) *transcript.Turn {
	for _, t := range state.Turns {
		for _, r := range t.Runs {
			if r.ID == run {
				return t
			}
		}
	}
	return nil
}

// by is how a person is named in records, for people.
func by(p surface.Person) string {
	name := clip(oneLine(p.Name), 64)
	if name == "" || name == p.ID {
		return p.ID
	}
	return name + " (" + p.ID + ")"
}

// mayTell reports whether a sender who may not talk is told so now.
func (in *Inbox) mayTell(sender string) bool {
	now := in.opt.Now()
	in.mu.Lock()
	defer in.mu.Unlock()
	if at, ok := in.refused[sender]; ok && now.Sub(at) < refusalPause {
		return false
	}
	if len(in.refused) >= maxRefused {
		for s, at := range in.refused {
			if now.Sub(at) >= refusalPause {
				delete(in.refused, s)
			}
		}
	}
	if len(in.refused) >= maxRefused {
		return false
	}
	in.refused[sender] = now
	return true
}
