package chat

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

const (
	// titlePatience is how long the model may take for a title.
	titlePatience = 30 * time.Second
	// maxTitleRunes is the longest title that a model may give.
	maxTitleRunes = 60
	// titleContextBytes is how much of the answer the model is shown for it.
	titleContextBytes = 2000
)

// autoTitle asks the model for a title, if people want that and the conversation
// has its first answer and no name. A failure changes nothing: the conversation
// keeps the title made of its first question.
func (s *Service) autoTitle(info turnlog.RunInfo, choice Choice) {
	ctx, cancel := context.WithTimeout(context.Background(), titlePatience)
	defer cancel()
	if s.opt.AutoTitle == nil || !s.opt.AutoTitle(ctx) {
		return
	}
	state := &transcript.Conversation{ID: info.Conversation}
	if err := s.readAll(ctx, state); err != nil || state.TitleSet || len(state.Rows()) != 2 {
		return
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-s.ending:
			cancel()
		case <-ctx.Done():
		}
	}()
	title, err := askTitle(ctx, state, choice)
	if ctx.Err() == nil && err == nil && title != "" {
		err = s.nameUnnamed(ctx, info.Conversation, title)
	}
	cancel()
	<-watched
	if err != nil || title == "" {
		s.opt.Logger.Warn("no title from the model", "conversation", info.Conversation, "err", err)
	}
}

func (s *Service) readAll(ctx context.Context, state *transcript.Conversation) error {
	head, err := s.opt.Log.Head(ctx, state.ID)
	if err != nil {
		return err
	}
	return s.read(ctx, state, head)
}

func askTitle(ctx context.Context, state *transcript.Conversation, choice Choice) (string, error) {
	turn := state.Rows()[0].Turn
	answer := turn.Active().Content()
	answer = answer[:runeEdge(answer, titleContextBytes)]
	req := choice.Request
	req.System, req.Tools, req.MaxTokens = "", nil, nil
	req.Messages = []llm.Message{{Role: llm.RoleUser, Text: "Give this conversation a title of at most six words, in its own language. Write the title alone.\n\nQuestion: " +
		turn.User.Text[:runeEdge(turn.User.Text, titleContextBytes)] + "\n\nAnswer: " + answer}}
	var b strings.Builder
	for chunk, err := range choice.Model.Stream(ctx, req) {
		if err != nil {
			return "", err
		}
		b.WriteString(chunk.Text)
		if b.Len() > titleContextBytes {
			break
		}
	}
	return cleanTitle(b.String()), nil
}

// runeEdge returns the largest length of at most n bytes that cuts no character.
func runeEdge(s string, n int) int {
	if len(s) <= n {
		return len(s)
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// cleanTitle makes one line of what a model called a title: the first that says
// anything, without quotes around it or marks of Markdown before it.
func cleanTitle(said string) string {
	for line := range strings.Lines(said) {
		line = strings.Map(func(r rune) rune {
			if unicode.IsControl(r) {
				return -1
			}
			return r
		}, line)
		line = strings.Trim(strings.TrimLeft(strings.TrimSpace(line), "#*- "), "*\"'“”„«»` ")
		if line == "" {
			continue
		}
		runes := []rune(line)
		return strings.TrimSpace(string(runes[:min(len(runes), maxTitleRunes)]))
	}
	return ""
}

// nameUnnamed sets a title unless somebody has meanwhile.
func (s *Service) nameUnnamed(ctx context.Context, c id.Conversation, title string) error {
	_, release, err := s.enter(ctx, c)
	if err != nil {
		return err
	}
	defer release()
	state, err := s.facts(ctx, c)
	if err != nil || state.TitleSet || !hasRows(state) {
		return err
	}
	_, err = s.opt.Log.Append(ctx, c, turnlog.Draft{Event: event.Title{Title: title}})
	return err
}
