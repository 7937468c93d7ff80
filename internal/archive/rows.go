package archive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

const (
	importedModel = "imported"
	// maxPiece is the most text of one record, in bytes.
	maxPiece = 32 << 10
)

// rows makes a chat's records: a turn for each question with the answer that
// follows it. An answer without a question gets one without words.
func (p *parcel) rows(c chat) error {
	at, known := chatTime(c.Updated)
	if !known {
		at, p.untimed = p.archive.now().UTC().Truncate(time.Millisecond), true
	}
	b := &builder{parcel: p, at: at}
	for i := 0; i < len(c.Messages) && b.err == nil; i++ {
		m := c.Messages[i]
		if m.Role != "user" && m.Role != "assistant" || m.Content == nil || slices.Contains(m.Versions, nil) {
			p.refuse("its message %d is none of a user or an assistant with a text", i+1)
			return nil
		}
		question, answer := "", (*row)(nil)
		switch {
		case m.Role == "assistant":
			answer = &m
		case i+1 < len(c.Messages) && c.Messages[i+1].Role == "assistant":
			next := c.Messages[i+1]
			if next.Content == nil || slices.Contains(next.Versions, nil) {
				continue // the next step refuses it
			}
			question, answer = *m.Content, &next
			i++
		default:
			question = *m.Content
		}
		b.turn(question, answer)
	}
	if c.Title != "" {
		b.fact(event.Title{Title: c.Title})
	}
	if c.Project != "" {
		b.fact(event.Settings{Project: &c.Project})
	}
	if len(c.Messages) == 0 {
		p.refuse("it has no messages")
	}
	return b.err
}

// chatTime reads seconds or milliseconds since 1970, or RFC 3339; false for
// anything else.
func chatTime(raw json.RawMessage) (time.Time, bool) {
	var number float64
	var text string
	switch {
	case json.Unmarshal(raw, &number) == nil && number > 0 && number < 1e14:
		if number < 1e11 {
			number *= 1000
		}
		return time.UnixMilli(int64(number)).UTC(), true
	case json.Unmarshal(raw, &text) == nil:
		if t, err := time.Parse(time.RFC3339, text); err == nil && t.Unix() > 0 && t.Year() < 5000 {
			return t.UTC().Truncate(time.Millisecond), true
		}
	}
	return time.Time{}, false
}

// builder appends records to a parcel; the first error stays.
type builder struct {
	*parcel
	at    time.Time
	turns int
	err   error
}

func (b *builder) fact(e event.Event) { b.append("", "", e) }

func (b *builder) append(run id.Run, message id.Message, e event.Event) {
	if b.err != nil || b.refused() {
		return
	}
	r, err := event.NewRecord(b.outcome.ID, run, message, e)
	if err != nil {
		b.err = err
		return
	}
	r.Seq, r.At = int64(len(b.records)+1), b.at
	b.records = append(b.records, r)
}

// turn writes a question and the versions of its answer; nil for a question
// that nobody answered.
func (b *builder) turn(question string, answer *row) {
	b.turns++
	name := func(what string) string { return derived(string(b.outcome.ID), what, strconv.Itoa(b.turns)) }
	asked, message := id.Message("m_"+name("question")), id.Message("m_"+name("answer"))
	b.fact(event.UserMessage{Message: asked, Text: question, Via: event.Via{Surface: "import"}})
	versions, active := []string{""}, 0
	if answer != nil {
		versions, active = answer.texts()
	}
	var runs []id.Run
	for i, text := range versions {
		run := id.Run("r_" + name("version "+strconv.Itoa(i)))
		runs = append(runs, run)
		start := event.Start{Model: importedModel, Version: i + 1}
		if i > 0 {
			start.RegenerateOf = asked
		}
		b.append(run, message, start)
		b.answer(run, message, text, answer != nil)
	}
	if active < len(runs)-1 {
		b.fact(event.VersionActive{Message: message, Run: runs[active]})
	}
}

// texts returns the versions of an answer and which one is shown. An answer
// whose content is none of its versions has it as one more.
func (r *row) texts() (versions []string, active int) {
	for _, v := range r.Versions {
		versions = append(versions, *v)
	}
	if r.Active >= 0 && r.Active < len(versions) && versions[r.Active] == *r.Content {
		return versions, r.Active
	}
	if i := slices.Index(versions, *r.Content); i >= 0 {
		return versions, i
	}
	return append(versions, *r.Content), len(versions)
}

// answer writes what a run said and how it ended.
func (b *builder) answer(run id.Run, message id.Message, text string, answered bool) {
	if text == "" {
		failed := event.Error{Type: event.ErrorEmpty, Message: "The imported answer has no text."}
		if !answered {
			failed = event.Error{
				Type: event.ErrorInternal, Code: event.CodeInterrupted, Retryable: true,
				Message: "The imported file has no answer to this message; ask again for one.",
			}
		}
		b.append(run, message, failed)
		return
	}
	hash := sha256.Sum256([]byte(text))
	sum, chars, segment := hex.EncodeToString(hash[:]), int64(utf8.RuneCountInString(text)), id.SegmentOf(1)
	for offset := 0; offset < len(text); {
		piece := text[offset:pieceEnd(text, offset)]
		b.append(run, message, event.Delta{Segment: segment, Offset: int64(offset), Text: piece})
		offset += len(piece)
	}
	visible := strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) })
	b.append(run, message, event.SegmentEnd{Segment: segment, Phase: event.PhaseAnswer, Bytes: int64(len(text)), SHA256: sum, Visible: visible})
	b.append(run, message, event.Usage{Chars: chars, Model: importedModel, Rounds: []event.Round{}})
	b.append(run, message, event.End{Finish: event.FinishStop, Chars: chars, SHA256: sum})
}

// pieceEnd is where a piece that begins at an offset ends, between characters.
func pieceEnd(text string, offset int) int {
	end := min(offset+maxPiece, len(text))
	for end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}
