package sse

// Head opens every stream: a reader that lost its connection tries again after
// two seconds. KeepAlive is the comment that keeps a silent stream open; it
// carries no id and means nothing.
const (
	Head      = "retry: 2000\n\n"
	KeepAlive = ": keep-alive\n\n"
)

// The names of the events on the compatible wire. There are exactly these
// eleven; clients may rely on it.
const (
	nameStart           = "start"
	nameReasoning       = "reasoning"
	nameDelta           = "delta"
	nameToolDrafting    = "tool_drafting"
	nameToolCall        = "tool_call"
	nameToolResult      = "tool_result"
	nameApprovalRequest = "approval_request"
	nameUsage           = "usage"
	nameCancelled       = "cancelled"
	nameError           = "error"
	nameEnd             = "end"
)

// Wire is one event of the compatible wire: a row of the table that the
// encoder, its tests and the reference page share.
type Wire struct {
	Name string
	Doc  string
	// Fields are in the order they are written, msg_id first and seq last.
	Fields []WireField
	// Terminal events are the last of their stream.
	Terminal bool
}

// WireField is a member of an event's payload.
type WireField struct {
	Name string
	// Type is the JSON type as the reference page names it.
	Type string
	// Basic fields are the ones that every client of this wire knows and
	// that are always there; the others are extra, and a client may
	// ignore them.
	Basic bool
	// Optional fields are left out where they say nothing.
	Optional bool
	Doc      string
}

// Table returns the eleven events in the order in which a run meets them.
func Table() []Wire {
	return []Wire{
		wireStart(), wireReasoning(), wireDelta(),
		wireToolDrafting(), wireToolCall(), wireToolResult(), wireApprovalRequest(),
		wireUsage(), wireCancelled(), wireError(), wireEnd(),
	}
}

// wire adds the two fields that every event has.
func wire(name, doc string, fields ...WireField) Wire {
	all := []WireField{basic("msg_id", "string", "the assistant message that the run is a version of")}
	all = append(all, fields...)
	all = append(all, extra("seq", "integer", "the record's place in the conversation; the number in the frame's id"))
	return Wire{Name: name, Doc: doc, Fields: all}
}

func terminal(w Wire) Wire {
	w.Terminal = true
	return w
}

func basic(name, typ, doc string) WireField {
	return WireField{Name: name, Type: typ, Basic: true, Doc: doc}
}

func extra(name, typ, doc string) WireField {
	return WireField{Name: name, Type: typ, Doc: doc}
}

func optional(name, typ, doc string) WireField {
	return WireField{Name: name, Type: typ, Optional: true, Doc: doc}
}

func wireStart() Wire {
	return wire(nameStart, "The run began.",
		basic("run_id", "string", "the run; give it to `/cancel`, or to `/chat` to attach again"),
		extra("conversation_id", "string", "the conversation"),
		extra("model", "string", "the model that answers, as provider/name"),
		extra("version", "integer", "counts the runs of the turn from 1"),
		optional("regenerate_of", "string", "the user message that is answered again"),
		optional("omitted_turns", "integer", "earlier turns that did not fit the model's context"),
		optional("reset", "boolean", "true when the cursor that was given says nothing here: drop what you hold of the run"),
	)
}

func wirePiece(name, doc string) Wire {
	return wire(name, doc,
		basic("text", "string", "the new text, never empty"),
		extra("segment", "string", "the segment that it continues, unique in the run"),
		extra("offset", "integer", "where it begins in the segment, in bytes of UTF-8"),
	)
}

func wireReasoning() Wire {
	return wirePiece(nameReasoning, "More of the model's reasoning. Reasoning without a visible character is not sent; blanks before the first one come with it.")
}

func wireDelta() Wire { return wirePiece(nameDelta, "More of the text.") }

func wireToolDrafting() Wire {
	return wire(nameToolDrafting, "The model is writing a tool call.",
		basic("name", "string", "the tool"),
		extra("call_id", "string", "the call, from draft to result"),
		extra("index", "integer", "counts the calls of the run from 1"),
		extra("args_delta", "string", "more of the arguments; may be empty in a call's first draft"),
		extra("offset", "integer", "where it begins in the arguments, in bytes of UTF-8"),
	)
}

func wireToolCall() Wire {
	return wire(nameToolCall, "A tool call is complete and about to be run.",
		basic("call_id", "string", "the call"),
		basic("name", "string", "the tool"),
		basic("args", "any", "the arguments; null when the model did not write JSON"),
		extra("index", "integer", "counts the calls of the run from 1"),
		optional("args_text", "string", "the arguments exactly as the model wrote them, where `args` is not that"),
	)
}

func wireToolResult() Wire {
	return wire(nameToolResult, "A tool call ended.",
		basic("call_id", "string", "the call"),
		basic("name", "string", "the tool"),
		basic("ok", "boolean", "whether it did what it was asked"),
		basic("output", "string", "what it gave back; the tail of it when `truncated`"),
		basic("seconds", "number", "how long it ran; 0 when it never did"),
		extra("truncated", "boolean", "whether `output` is only the tail"),
		extra("output_bytes", "integer", "the length of the whole output in bytes"),
	)
}

func wireApprovalRequest() Wire {
	return wire(nameApprovalRequest, "A tool call waits for a decision.",
		basic("approval_id", "string", "the request; decide it with `/approve/{approval_id}`"),
		basic("call_id", "string", "the call that waits"),
		basic("name", "string", "the tool"),
		basic("args", "any", "the arguments"),
		extra("risk", "string", "none, low, medium or high"),
		extra("reason", "string", "why it asks"),
		extra("expires_at", "string", "when silence becomes a denial, RFC 3339"),
	)
}

func wireUsage() Wire {
	return wire(nameUsage, "What the run took.",
		basic("chars", "integer", "code points of the run's text"),
		basic("seconds", "number", "from start to the end of the last round"),
		basic("ttft", "number", "seconds to the first reasoning or text; 0 when none came"),
		extra("input_tokens", "integer", "tokens of input, over all rounds"),
		extra("output_tokens", "integer", "tokens of output"),
		extra("reasoning_tokens", "integer", "tokens of reasoning"),
		extra("cached_tokens", "integer", "tokens of input that the provider had cached"),
		extra("model", "string", "the model that answered"),
		extra("rounds", "array", "one {input, cached, output, text_bytes, tools} for each call of the model"),
	)
}

func wireCancelled() Wire {
	return terminal(wire(nameCancelled, "A person stopped the run, or took its message out of the queue; then it is the only event, and `msg_id` is empty.",
		basic("run_id", "string", "the run"),
	))
}

func wireError() Wire {
	return terminal(wire(nameError, "The run failed. What it said before stays.",
		basic("message", "string", "what happened and what to do, for people"),
		basic("kind", "string", "auth, rate_limit, no_answer, empty or internal"),
		extra("code", "string", "finer than `kind`; empty when that says it all"),
		extra("retryable", "boolean", "whether the same request may succeed later"),
		optional("retry_after", "number", "seconds to wait first, where the provider named them"),
	))
}

func wireEnd() Wire {
	return terminal(wire(nameEnd, "The run is complete.",
		basic("user_index", "integer or null", "row of the question in `GET /chats/{id}`, as it is when this is sent; null when it is gone"),
		basic("assistant_index", "integer or null", "row of the answer"),
		basic("versions", "integer", "how many versions the answer has, at least 1"),
		basic("active", "integer", "which of them is shown, from 0"),
		extra("finish", "string", "stop, length or content_filter"),
		extra("chars", "integer", "code points of the run's text"),
		extra("sha256", "string", "SHA-256 of the run's text, in hex: its deltas, joined"),
	))
}
