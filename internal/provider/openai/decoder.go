package openai

import (
	"bytes"

	"verbatim/internal/event"
	"verbatim/internal/llm"
)

// decoder makes chunks of the events of one stream. It is pure: the same
// events give the same chunks.
type decoder struct {
	frame frame

	content, thoughts joiner
	router            llm.Router
	pieces            []llm.Piece
	calls             calls

	usage *llm.Usage
	// finish is why the model stopped, empty while it has not said so.
	finish event.Finish
	// done: nothing more is to come.
	done    bool
	problem *problem
	// bad: an event was no JSON object.
	bad bool
}

// add appends what an event adds to dst.
func (d *decoder) add(dst []llm.Chunk, data []byte, name []byte, whole bool) []llm.Chunk {
	if string(bytes.TrimSpace(data)) == "[DONE]" {
		d.done = true
		return dst
	}
	f := &d.frame
	f.parse(data, whole, string(name) == "error")
	if f.bad {
		d.bad = true
		return dst
	}
	dst = d.addReasoning(dst, f)
	dst = d.addContent(dst, f.content)
	dst = d.addContent(dst, f.refusal)
	for i := range f.tools {
		dst = d.calls.add(dst, &f.tools[i])
	}
	d.settle(f, whole)
	return dst
}

// settle takes over what is no text.
func (d *decoder) settle(f *frame, whole bool) {
	if f.usage != nil {
		d.usage = f.usage
	}
	d.problem = f.problem
	if len(f.finish) > 0 {
		d.finish = finishOf(f.finish)
		if string(f.finish) == "error" && d.problem == nil {
			d.problem = &problem{}
		}
	}
	// Usage follows the finish in an event of its own.
	d.done = whole || d.finish != "" && f.usage != nil && len(f.finish) == 0
}

func (d *decoder) addReasoning(dst []llm.Chunk, f *frame) []llm.Chunk {
	first, second := f.reasoning[0], f.reasoning[1]
	if bytes.Equal(first, second) {
		second = nil // one thought in two spellings
	}
	dst = d.addThought(dst, first)
	dst = d.addThought(dst, second)
	if len(first) == 0 && len(second) == 0 {
		dst = d.addThought(dst, f.reasoning[2])
	}
	return dst
}

func (d *decoder) addThought(dst []llm.Chunk, p []byte) []llm.Chunk {
	return appendReasoning(dst, d.thoughts.add(p))
}

func (d *decoder) addContent(dst []llm.Chunk, p []byte) []llm.Chunk {
	if len(p) == 0 {
		return dst
	}
	d.pieces = d.router.Append(d.pieces[:0], d.content.add(p))
	return d.addPieces(dst)
}

// end appends what was held back, and the usage.
func (d *decoder) end(dst []llm.Chunk) []llm.Chunk {
	dst = appendReasoning(dst, d.thoughts.end())
	d.pieces = d.router.Append(d.pieces[:0], d.content.end())
	d.pieces = d.router.Flush(d.pieces)
	dst = d.addPieces(dst)
	dst = d.calls.end(dst)
	if d.usage != nil {
		dst = append(dst, llm.Chunk{Usage: d.usage})
		d.usage = nil
	}
	return dst
}

// complete reports whether the answer is whole if nothing more comes.
func (d *decoder) complete() bool {
	return d.problem == nil && !d.bad && (d.done || d.finish != "")
}

// reason is why the model stopped; stop when it did not say.
func (d *decoder) reason() event.Finish {
	if d.finish == "" {
		return event.FinishStop
	}
	return d.finish
}

func (d *decoder) addPieces(dst []llm.Chunk) []llm.Chunk {
	for _, p := range d.pieces {
		if p.Reasoning {
			dst = append(dst, llm.Chunk{Reasoning: p.Text})
			continue
		}
		dst = append(dst, llm.Chunk{Text: p.Text})
	}
	return dst
}

func appendReasoning(dst []llm.Chunk, text string) []llm.Chunk {
	if len(text) == 0 {
		return dst
	}
	return append(dst, llm.Chunk{Reasoning: text})
}

func finishOf(reason []byte) event.Finish {
	switch string(reason) {
	case "length", "max_tokens":
		return event.FinishLength
	case "content_filter":
		return event.FinishContentFilter
	}
	return event.FinishStop
}
