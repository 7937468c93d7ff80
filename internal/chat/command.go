package chat

import (
	"context"
	"strings"
	"unicode/utf8"

	"verbatim/internal/agent"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// MaxTitleBytes is the longest title or project name, in bytes of UTF-8.
const MaxTitleBytes = 1000

// Rename sets a conversation's title. Missing when it is not there.
func (s *Service) Rename(ctx context.Context, c id.Conversation, title string) error {
	if err := checkName("title", title); err != nil {
		return err
	}
	return s.fact(ctx, c, event.Title{Title: title})
}

// SetProject files a conversation under a project; empty takes it out of one.
// Missing when the conversation is not there.
func (s *Service) SetProject(ctx context.Context, c id.Conversation, project string) error {
	if project != "" {
		if err := checkName("project", project); err != nil {
			return err
		}
	}
	return s.fact(ctx, c, event.Settings{Project: &project})
}

func checkName(what, name string) error {
	switch {
	case strings.IndexFunc(name, isInk) < 0:
		return refuse(Invalid, "The %s is empty; write something.", what)
	case len(name) > MaxTitleBytes:
		return refuse(Invalid, "The %s is longer than %d bytes; choose a shorter one.", what, MaxTitleBytes)
	case !utf8.ValidString(name):
		return refuse(Invalid, "The %s is not valid UTF-8.", what)
	}
	return nil
}

// fact appends a fact to a conversation that is there.
func (s *Service) fact(ctx context.Context, c id.Conversation, e event.Event) error {
	if err := s.mustExist(ctx, c); err != nil {
		return err
	}
	_, err := s.opt.Log.Append(ctx, c, turnlog.Draft{Event: e})
	return err
}

func (s *Service) mustExist(ctx context.Context, c id.Conversation) error {
	state, err := s.facts(ctx, c)
	if err != nil {
		return err
	}
	if !hasRows(state) {
		return missing(c)
	}
	return nil
}

func hasRows(state *transcript.Conversation) bool { return len(state.Rows()) > 0 }

func missing(c id.Conversation) *Error {
	return refuse(Missing, "There is no chat %s.", c)
}

// Delete hides a conversation at once; a run in it is cancelled first. A later
// message begins it anew. Missing when it is not there.
func (s *Service) Delete(ctx context.Context, c id.Conversation, via event.Via) error {
	if err := s.mustExist(ctx, c); err != nil {
		return err
	}
	release, err := s.quiet(ctx, c, via)
	if err != nil {
		return err
	}
	defer release()
	_, err = s.opt.Log.Append(ctx, c, turnlog.Draft{Event: event.ConversationDeleted{Via: via}})
	return err
}

// quiet stops the conversation's run, if it has one, and keeps others from
// beginning until release is called.
func (s *Service) quiet(ctx context.Context, c id.Conversation, via event.Via) (release func(), err error) {
	hold := newActive("", c, "")
	close(hold.started)
	close(hold.closing) // a message that comes now waits instead of being refused
	for {
		s.mu.Lock()
		other := s.busy[c]
		if other == nil {
			s.busy[c] = hold
			s.mu.Unlock()
			return func() { s.forget(hold); close(hold.done) }, nil
		}
		s.mu.Unlock()
		select {
		case <-other.started:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if other.cancel != nil {
			other.cancel(&agent.Stop{Terminal: event.Cancelled{By: "delete", Via: via}})
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// DeleteAll deletes every conversation and returns how many there were.
func (s *Service) DeleteAll(ctx context.Context, via event.Via) (int, error) {
	n := 0
	for {
		list, err := s.opt.Log.Conversations(ctx, 1000)
		if err != nil || len(list) == 0 {
			return n, err
		}
		for _, c := range list {
			if err := s.Delete(ctx, c.Conversation, via); err != nil {
				return n, err
			}
			n++
		}
	}
}
