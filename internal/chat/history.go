package chat

import (
	"context"

	"verbatim/internal/agent"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/transcript"
	"verbatim/internal/turnlog"
)

// DefaultContextTokens is how much of a conversation a request sends, in
// estimated tokens.
const DefaultContextTokens = 100_000

// messageTokens is what a message costs beside its text.
const messageTokens = 8

// estimate returns about how many tokens a text costs: a quarter of its bytes,
// which is near the truth for English and above it for most other text.
func estimate(textBytes int) int { return (textBytes+3)/4 + messageTokens }

// facts folds the structure of a conversation, without its text.
func (s *Service) facts(ctx context.Context, c id.Conversation) (*transcript.Conversation, error) {
	state := &transcript.Conversation{ID: c}
	for {
		records, err := s.opt.Log.Facts(ctx, c, state.Seq, turnlog.Limit{})
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

// history returns what the model is to be told for a turn: as many of the turns
// before it as fit the budget, newest kept, then the question. It is read from
// the log each time. omitted counts the turns that did not fit.
func (s *Service) history(ctx context.Context, state *transcript.Conversation, turn int, user *event.UserMessage, choice Choice) (messages []llm.Message, omitted int, err error) {
	budget := s.opt.ContextTokens - estimate(len(choice.Request.System)) - estimate(len(user.Text)) - filesCost(user)
	kept, omitted := fit(state.Turns[:turn], budget)
	runs, err := s.readRuns(ctx, state.ID, kept)
	if err != nil {
		return nil, 0, err
	}
	for _, t := range kept {
		messages = append(messages, s.question(&t.User, t.files, choice))
		if shown := t.Active(); shown != nil && runs.Run(shown.ID) != nil {
			messages = append(messages, runMessages(runs.Run(shown.ID))...)
		}
	}
	return append(messages, s.question(user, true, choice)), omitted, nil
}

// keptTurn is a turn that the model is told of; files says whether those of its
// question come along.
type keptTurn struct {
	*transcript.Turn
	files bool
}

// fit returns the newest turns that fit a budget of tokens, in order. What a
// turn costs is known from the facts, before its text is read. Files are left
// out before words are. A turn that does not fit ends the search: an older one
// that would is not told without it.
func fit(turns []*transcript.Turn, budget int) (kept []keptTurn, omitted int) {
	first := len(turns)
	with := map[*transcript.Turn]bool{}
	for first > 0 {
		if t := turns[first-1]; !t.Deleted {
			if budget -= turnCost(t); budget < 0 {
				break
			}
			if files := filesCost(&t.User); files <= budget {
				budget -= files
				with[t] = true
			}
		}
		first--
	}
	for i, t := range turns {
		switch {
		case t.Deleted:
		case i < first:
			omitted++
		default:
			kept = append(kept, keptTurn{t, with[t]})
		}
	}
	return kept, omitted
}

func turnCost(t *transcript.Turn) int {
	n := estimate(len(t.User.Text))
	shown := t.Active()
	if shown == nil {
		return n
	}
	for _, p := range shown.Parts {
		switch {
		case p.Kind == transcript.PartText:
			n += estimate(int(p.Bytes))
		case p.Kind == transcript.PartTool && p.Tool.Called != nil:
			call, result := callMessages(p.Tool)
			n += estimate(len(call.Args)) + estimate(len(result.Text))
		}
	}
	return n
}

// readRuns folds the runs that turns show, with their text. The turns are in
// order, so one pass from the first question on has them all.
func (s *Service) readRuns(ctx context.Context, c id.Conversation, turns []keptTurn) (*transcript.Conversation, error) {
	state := &transcript.Conversation{ID: c}
	if len(turns) == 0 {
		return state, nil
	}
	state.Seq = turns[0].UserSeq - 1
	last := int64(0)
	for _, t := range turns {
		if shown := t.Active(); shown != nil {
			last = max(last, shown.Last)
		}
	}
	return state, s.read(ctx, state, last)
}

// read folds records with their text, from where state is up to a seq.
func (s *Service) read(ctx context.Context, state *transcript.Conversation, last int64) error {
	for state.Seq < last {
		records, err := s.opt.Log.After(ctx, state.ID, state.Seq, turnlog.Limit{})
		if err != nil || len(records) == 0 {
			return err
		}
		for _, r := range records {
			if r.Seq > last {
				return nil
			}
			if err := state.Apply(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// runMessages returns a run as the model is told of it. Each round is what the
// assistant said and called, then the results. A call without a result gets one
// that says so, and a result without a call is left out: providers refuse
// either.
func runMessages(run *transcript.Run) []llm.Message {
	var out []llm.Message
	said := llm.Message{Role: llm.RoleAssistant}
	var results []llm.Message
	flush := func() {
		if said.Text != "" || len(said.Calls) > 0 {
			out = append(append(out, said), results...)
		}
		said, results = llm.Message{Role: llm.RoleAssistant}, nil
	}
	for _, p := range run.Parts {
		switch p.Kind {
		case transcript.PartText:
			// Text after a call is the next round's, unless it was said
			// in the same breath.
			if len(results) > 0 && p.Phase != event.PhaseCommentary || p.Phase == event.PhaseCommentary && len(said.Calls) > 0 {
				flush()
			}
			if p.Visible {
				said.Text += string(p.Text)
			}
		case transcript.PartTool:
			if p.Tool.Called == nil {
				continue
			}
			call, result := callMessages(p.Tool)
			said.Calls = append(said.Calls, call)
			results = append(results, result)
		case transcript.PartReasoning:
		}
	}
	flush()
	return out
}

func callMessages(t *transcript.Tool) (llm.Call, llm.Message) {
	call := llm.Call{ID: string(t.Call), Name: t.Name, Args: t.Called.Text(), Provider: t.Called.Provider}
	output := "The call ended without a result; it may have run."
	if t.Result != nil {
		output = t.Result.Output
	}
	return call, llm.Message{Role: llm.RoleTool, Text: agent.ResultText(output, t.Resolved), Result: &call}
}
