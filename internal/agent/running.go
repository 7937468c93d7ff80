package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/llm"
	"verbatim/internal/tool"
	"verbatim/internal/transcript"
)

// running is the state of one run. One goroutine owns it.
type running struct {
	job  Job
	rec  *recorder
	mint id.Mint
	now  func() time.Time

	started   time.Time
	firstWord time.Time // of the first text or reasoning, zero before
	asked     bool      // the model was called
	segments  int       // begun so far
	text      *segment  // open, or nil
	reasoning *segment  // open, or nil
	calls     int       // begun so far in the run
	open      []*call   // of the round, begun and maybe without a result
	reasoned  bool      // a visible character of reasoning came
	runHash   *segment  // over all text of the run
	chars     int64     // code points of all text of the run
	usage     event.Usage

	// What the calls of a round use, several at once.
	approvals Approvals
	spool     func() (tool.Spool, error)
	succeeded atomic.Int64 // calls that did what they should
	log       *slog.Logger
}

// rounds calls the model until it answers, and returns the terminal.
func (r *running) rounds(ctx context.Context) event.Event {
	req := r.job.Request
	for range MaxRounds {
		res, err := r.round(ctx, req)
		if err != nil {
			return r.failed(ctx, err)
		}
		if len(res.calls) == 0 {
			return r.finished(res)
		}
		answers, err := r.runCalls(ctx, res)
		if err != nil {
			return r.failed(ctx, err)
		}
		req.Messages = append(req.Messages[:len(req.Messages):len(req.Messages)], answers...)
	}
	return event.Error{
		Type: event.ErrorInternal, Code: event.CodeToolLoop, Retryable: true,
		Message: fmt.Sprintf("The model kept calling tools without an answer, so the run was ended after %d rounds.", MaxRounds),
	}
}

// round is what one call of the model came to.
type round struct {
	text    []byte // all text of the round, for the next round's context
	visible bool
	calls   []*call
	finish  event.Finish
}

func (r *running) round(ctx context.Context, req llm.Request) (*round, error) {
	r.asked = true
	res := &round{finish: event.FinishStop}
	tokens := event.Round{}
	defer func() {
		tokens.TextBytes, tokens.Tools = int64(len(res.text)), len(res.calls)
		r.usage.Rounds = append(r.usage.Rounds, tokens)
	}()
	for chunk, err := range r.job.Model.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		// What the model says after a stop was never shown, and is not stored.
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.take(res, chunk); err != nil {
			return nil, err
		}
		if u := chunk.Usage; u != nil {
			tokens.Input, tokens.Cached, tokens.Output = u.Input, u.Cached, u.Output
			r.usage.ReasoningTokens += u.Reasoning
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return res, r.endSegments(phaseOf(res))
}

func phaseOf(res *round) event.Phase {
	if len(res.calls) > 0 {
		return event.PhaseCommentary
	}
	return event.PhaseAnswer
}

// take records one chunk.
func (r *running) take(res *round, chunk llm.Chunk) error {
	switch {
	case chunk.Text != "":
		res.text = append(res.text, chunk.Text...)
		res.visible = res.visible || isVisible(chunk.Text)
		return r.say(chunk.Text)
	case chunk.Reasoning != "":
		return r.think(chunk.Reasoning)
	case chunk.Tool != nil:
		return r.draft(res, *chunk.Tool)
	case chunk.Finish != nil:
		res.finish = chunk.Finish.Reason
	}
	return nil
}

// say records text. Reasoning ends at the first visible character after it:
// blanks between two pieces of reasoning don't make two panels of one.
func (r *running) say(text string) error {
	r.markFirst()
	if r.reasoning != nil && isVisible(text) {
		if err := r.endReasoning(); err != nil {
			return err
		}
	}
	if r.text == nil {
		r.text = r.begin()
	}
	r.chars += int64(utf8.RuneCountInString(text))
	r.runHash.add(text)
	for len(text) > 0 {
		n := cutPiece(text)
		piece := text[:n]
		if err := r.rec.record(event.Delta{Segment: r.text.id, Offset: r.text.add(piece), Text: piece}, n); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

// think records reasoning. It leaves open text open: the text goes on after it.
func (r *running) think(text string) error {
	r.markFirst()
	if r.reasoning == nil {
		r.reasoning = r.begin()
	}
	r.reasoned = r.reasoned || isVisible(text)
	for len(text) > 0 {
		n := cutPiece(text)
		piece := text[:n]
		if err := r.rec.record(event.Reasoning{Segment: r.reasoning.id, Offset: r.reasoning.add(piece), Text: piece}, n); err != nil {
			return err
		}
		text = text[n:]
	}
	return nil
}

func (r *running) begin() *segment {
	r.segments++
	return newSegment(r.segments)
}

func (r *running) markFirst() {
	if r.firstWord.IsZero() {
		r.firstWord = r.now()
	}
}

func (r *running) endReasoning() error {
	if r.reasoning == nil {
		return nil
	}
	s := r.reasoning
	r.reasoning = nil
	return r.rec.record(s.end(event.PhaseReasoning), 0)
}

func (r *running) endSegments(phase event.Phase) error {
	if err := r.endReasoning(); err != nil {
		return err
	}
	if r.text == nil {
		return nil
	}
	s := r.text
	r.text = nil
	return r.rec.record(s.end(phase), 0)
}

// finished decides how a run ends whose last round called no tool.
func (r *running) finished(res *round) event.Event {
	switch {
	case res.visible:
		return event.End{Finish: res.finish, Chars: r.chars, SHA256: r.runHash.end("").SHA256}
	case res.finish == event.FinishContentFilter:
		return event.Error{
			Type: event.ErrorInternal, Code: event.CodeContentFilter,
			Message: "The provider's content filter stopped the answer before it began.",
		}
	case r.calls > 0:
		return event.Error{
			Type: event.ErrorNoAnswer, Retryable: true,
			Message: fmt.Sprintf("The tools ran, but no answer came back: %d of %d tool calls succeeded.", r.succeeded.Load(), r.calls),
		}
	case r.reasoned:
		return event.Error{
			Type: event.ErrorNoAnswer, Code: event.CodeReasoningOnly, Retryable: true,
			Message: "The model reasoned but gave no answer; it called no tools.",
		}
	}
	return event.Error{Type: event.ErrorEmpty, Retryable: true, Message: "No output: the model returned nothing."}
}

// failed decides how a run ends that could not go on.
func (r *running) failed(ctx context.Context, err error) event.Event {
	if ctx.Err() != nil {
		var stop *Stop
		if errors.As(context.Cause(ctx), &stop) {
			return stop.Terminal
		}
		return Interrupted()
	}
	var f *llm.Failure
	if errors.As(err, &f) {
		return event.Error{
			Type: f.Kind, Code: f.Code, Message: sentence(f.Message),
			Retryable: f.Retryable, RetryAfter: f.RetryAfter.Seconds(),
		}
	}
	return event.Error{
		Type: event.ErrorInternal, Code: event.CodeBug, Retryable: true,
		Message: "Something went wrong inside Verbatim. What was said so far is kept; please try again.",
	}
}

// sentence makes a person's sentence of an error's text.
func sentence(text string) string {
	if text == "" {
		return "The provider failed without a reason."
	}
	r, n := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(r)) + text[n:]
	if last, _ := utf8.DecodeLastRuneInString(text); unicode.IsLetter(last) || unicode.IsDigit(last) || last == ')' || last == '"' {
		text += "."
	}
	return text
}

// Interrupted is the terminal of a run that the end of the process cut off.
func Interrupted() event.Error {
	return event.Error{
		Type: event.ErrorInternal, Code: event.CodeInterrupted, Retryable: true,
		Message: "The answer was interrupted because Verbatim stopped. What was said so far is kept; retry to get a whole one.",
	}
}

// close ends what is open, then the run.
func (r *running) close(ctx context.Context, terminal event.Event) (event.Event, error) {
	if err := r.closeParts(causeOf(ctx)); err != nil {
		return nil, err
	}
	if r.job.Closing != nil {
		r.job.Closing()
	}
	if r.asked {
		if err := r.rec.record(r.took(), 0); err != nil {
			return nil, err
		}
	}
	if err := r.rec.record(terminal, 0); err != nil {
		return nil, err
	}
	return terminal, r.rec.sync()
}

func (r *running) closeParts(cause transcript.Cause) error {
	phase := event.PhaseAnswer
	if len(r.open) > 0 {
		phase = event.PhaseCommentary
	}
	if err := r.endSegments(phase); err != nil {
		return err
	}
	for _, c := range r.open {
		if !c.announced || c.ended {
			continue
		}
		// Only a log that refused its result, and then took the close, or a
		// stop before anything was asked, leaves such a call.
		if err := r.result(&task{call: c}, false, transcript.StopNote(cause, c.ran), taken{}); err != nil {
			return err
		}
	}
	r.open = nil
	return nil
}

func (r *running) took() event.Usage {
	u := r.usage
	u.Model, u.Chars = r.job.ModelName, r.chars
	u.Seconds = r.now().Sub(r.started).Seconds()
	if !r.firstWord.IsZero() {
		u.TTFT = r.firstWord.Sub(r.started).Seconds()
	}
	for _, round := range u.Rounds {
		u.InputTokens += round.Input
		u.CachedTokens += round.Cached
		u.OutputTokens += round.Output
	}
	return u
}
