package chat

import (
	"context"
	"strings"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// MaxTitleBytes is the longest title, project or model name, in bytes of UTF-8.
const MaxTitleBytes = 1000

// Patch changes what a conversation is called and where it is filed; nil fields
// are left alone.
type Patch struct {
	Title *string
	// Project may be empty, which takes it out of one; so may Model, which
	// takes the general one.
	Project, Model   *string
	Pinned, Archived *bool
	// Read is the seq up to which a person has seen the conversation.
	Read *int64
}

// Change applies a patch, all of it or none. Missing when the conversation is
// not there.
func (s *Service) Change(ctx context.Context, c id.Conversation, p Patch) error {
	if err := p.check(); err != nil {
		return err
	}
	_, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	state, err := s.facts(ctx, c)
	if err != nil {
		return err
	}
	if !hasRows(state) {
		return missing(c)
	}
	drafts := p.drafts(state)
	if len(drafts) == 0 {
		return nil
	}
	_, err = s.opt.Log.Append(ctx, c, drafts...)
	return err
}

func (p Patch) check() *Error {
	if p.Title != nil {
		if err := checkName("title", *p.Title); err != nil {
			return err
		}
	}
	if p.Project != nil && *p.Project != "" {
		if err := checkName("project", *p.Project); err != nil {
			return err
		}
	}
	if p.Model != nil && *p.Model != "" {
		if err := checkName("model", *p.Model); err != nil {
			return err
		}
	}
	if p.Read != nil && *p.Read < 0 {
		return refuse(Invalid, "read is the seq of a record, and can't be less than 0.")
	}
	return nil
}

// drafts returns the facts that bring the state to the patch.
func (p Patch) drafts(state *transcript.Conversation) []turnlog.Draft {
	var drafts []turnlog.Draft
	if p.Title != nil && (!state.TitleSet || state.Title != *p.Title) {
		drafts = append(drafts, turnlog.Draft{Event: event.Title{Title: *p.Title}})
	}
	var e event.Settings
	if p.Project != nil && *p.Project != state.Project {
		e.Project = p.Project
	}
	if p.Model != nil && *p.Model != state.Model {
		e.Model = p.Model
	}
	if p.Pinned != nil && *p.Pinned != state.Pinned {
		e.Pinned = p.Pinned
	}
	if p.Archived != nil && *p.Archived != state.Archived {
		e.Archived = p.Archived
	}
	if p.Read != nil && *p.Read > state.Read {
		e.Read = new(min(*p.Read, state.Seq))
	}
	if e != (event.Settings{}) {
		drafts = append(drafts, turnlog.Draft{Event: e})
	}
	return drafts
}

// Rename sets a conversation's title. Missing when it is not there.
func (s *Service) Rename(ctx context.Context, c id.Conversation, title string) error {
	return s.Change(ctx, c, Patch{Title: &title})
}

// SetProject files a conversation under a project; empty takes it out of one.
// Missing when the conversation is not there.
func (s *Service) SetProject(ctx context.Context, c id.Conversation, project string) error {
	return s.Change(ctx, c, Patch{Project: &project})
}

func checkName(what, name string) *Error {
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

func hasRows(state *transcript.Conversation) bool { return len(state.Rows()) > 0 }

func missing(c id.Conversation) *Error {
	return refuse(Missing, "There is no chat %s.", c)
}

// row finds a row of a conversation. The lane's turn is held.
func (s *Service) row(ctx context.Context, c id.Conversation, target Target) (transcript.Row, *transcript.Conversation, error) {
	state, err := s.facts(ctx, c)
	if err != nil {
		return transcript.Row{}, nil, err
	}
	if !hasRows(state) {
		return transcript.Row{}, nil, missing(c)
	}
	row, err := target.find(state)
	return row, state, err
}

// Version is the answer of a turn after one of its versions was chosen.
type Version struct {
	Run id.Run
	// Active counts from 0, Count is at least 1.
	Active, Count int
}

// SetVersion shows another version of an answer; n counts from 0, and the target
// is the question or its answer. Refusals: Missing, Conflict.
func (s *Service) SetVersion(ctx context.Context, c id.Conversation, target Target, n int) (Version, error) {
	_, release, err := s.enter(ctx, c)
	if err != nil {
		return Version{}, err
	}
	defer release()
	row, _, err := s.row(ctx, c, target)
	if err != nil {
		return Version{}, err
	}
	versions := row.Turn.Versions()
	if n < 0 || n >= len(versions) {
		return Version{}, refuse(Missing, "This answer has no version %d.", n)
	}
	chosen := versions[n]
	if row.Turn.Active() != chosen {
		e := event.VersionActive{Message: row.Turn.Message, Run: chosen.ID}
		if _, err := s.opt.Log.Append(ctx, c, turnlog.Draft{Event: e}); err != nil {
			return Version{}, err
		}
	}
	return Version{Run: chosen.ID, Active: n, Count: len(versions)}, nil
}
