package llm

import "strings"

// Piece is part of a model's content, as Router sorts it.
type Piece struct {
	// Text is never empty.
	Text      string
	Reasoning bool
}

// The longest tag of each list bounds what a Router holds back.
func openers() [3]string { return [...]string{"<think>", "<thinking>", "<reasoning>"} }
func closers() [3]string { return [...]string{"</think>", "</thinking>", "</reasoning>"} }

// Router sorts a model's content into answer and reasoning by its think tags:
// <think>, <thinking>, <reasoning> and their closers, in any case, cut
// anywhere. It drops the tags and no other byte, and what the pieces join to
// does not depend on how the content was cut.
//
// Any opener begins reasoning and any closer ends it, whatever its name. In
// reasoning an opener is text; in the answer a closer is. Within a code span or
// a fence of the answer an opener is text too. Code within reasoning is not
// looked for: a fence that a model opened in its thoughts and forgot must not
// take the answer along.
//
// Only a tail that is a proper beginning of a tag that could end here is held
// back, at most 10 bytes. The zero value is ready; it serves one round and is
// not safe for concurrent use.
type Router struct {
	code      codeTracker
	reasoning bool
	held      string
}

// Append appends what text adds to the round to dst. Neighbouring pieces may be
// of one kind.
func (r *Router) Append(dst []Piece, text string) []Piece {
	if r.held != "" {
		text, r.held = r.held+text, ""
	}
	start := 0
	for i := 0; i < len(text); {
		if text[i] != '<' || !r.tagsCount() {
			i = r.pass(text, i)
			continue
		}
		n, partial := r.tag(text[i:])
		if partial {
			r.held = text[i:]
			return r.piece(dst, text[start:i])
		}
		if n == 0 {
			r.step(text[i])
			i++
			continue
		}
		dst = r.piece(dst, text[start:i])
		r.reasoning = !r.reasoning
		i += n
		start = i
	}
	return r.piece(dst, text[start:])
}

// Flush appends what is held back to dst and ends the round: reasoning that was
// never closed ends with it. The router is then as new.
func (r *Router) Flush(dst []Piece) []Piece {
	dst = r.piece(dst, r.held)
	*r = Router{}
	return dst
}

func (r *Router) piece(dst []Piece, text string) []Piece {
	if len(text) == 0 {
		return dst
	}
	return append(dst, Piece{Text: text, Reasoning: r.reasoning})
}

// tagsCount reports whether a tag that begins here is one.
func (r *Router) tagsCount() bool {
	if r.reasoning {
		return true
	}
	r.code.settle()
	return !r.code.inside()
}

// pass goes over the byte at i, and over those after it that mean nothing.
func (r *Router) pass(text string, i int) int {
	if !r.reasoning {
		r.code.step(text[i])
		i++
		if r.code.idle() {
			for i < len(text) && ordinary(text[i]) {
				i++
			}
		}
		return i
	}
	if n := strings.IndexByte(text[i+1:], '<'); n >= 0 {
		return i + 1 + n
	}
	return len(text)
}

func (r *Router) step(c byte) {
	if !r.reasoning {
		r.code.step(c)
	}
}

// tag returns the length of the tag that s begins with, or whether s as a whole
// may yet become one.
func (r *Router) tag(s string) (n int, partial bool) {
	tags := openers()
	if r.reasoning {
		tags = closers()
	}
	for _, tag := range tags {
		if len(s) >= len(tag) && strings.EqualFold(s[:len(tag)], tag) {
			return len(tag), false
		}
		if len(s) < len(tag) && strings.EqualFold(s, tag[:len(s)]) {
			partial = true
		}
	}
	return 0, partial
}
