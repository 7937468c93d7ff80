package event

import (
	"encoding/json"
	"reflect"
)

// Spec says what is fixed about a kind.
type Spec struct {
	Kind Kind
	// Doc is one sentence for the reference page.
	Doc string
	// Run reports whether the record belongs to a run (and then carries
	// run_id and msg_id) or is a fact about the conversation.
	Run bool
	// Structural records alone rebuild everything but text: rows, versions,
	// states. The log can read them without reading what streamed between.
	Structural bool
	// Terminal kinds end a run; nothing of the run follows.
	Terminal bool
	// Samples are example payloads, at least one, used by tests and the
	// reference page.
	Samples []Event

	decode  func(json.RawMessage) (Event, error)
	payload reflect.Type
}

// Lookup returns the spec of a kind, and false for one this version does not
// know.
func Lookup(k Kind) (Spec, bool) {
	s, ok := byKind[k]
	return s, ok
}

// Specs returns the table in the order of the reference page.
func Specs() []Spec { return specs }

func spec[E Event](doc string, flags flags, samples ...Event) Spec {
	var zero E
	return Spec{
		Kind: zero.Kind(), Doc: doc, Samples: samples,
		Run: flags&run != 0, Structural: flags&structural != 0, Terminal: flags&terminal != 0,
		decode:  decode[E],
		payload: reflect.TypeFor[E](),
	}
}

func decode[E Event](body json.RawMessage) (Event, error) {
	var e E
	err := json.Unmarshal(body, &e)
	return e, err
}

// faster gives a kind a decoder that need not know every form of its payload.
func faster(s Spec, fast func(json.RawMessage) (Event, bool)) Spec {
	slow := s.decode
	s.decode = func(body json.RawMessage) (Event, error) {
		if e, ok := fast(body); ok {
			return e, nil
		}
		return slow(body)
	}
	return s
}

type flags uint8

const (
	run flags = 1 << iota
	structural
	terminal
)

// specs is the table of kinds: a new kind is a file of its own and a line here.
var specs = []Spec{
	spec[UserMessage]("A person's message, logged with the start of its run.", structural, sampleUserMessage),
	spec[Start]("A run begins; a second one of the same run is its only automatic retry.", run|structural, sampleStart, sampleRetry),
	faster(spec[Reasoning]("More of a reasoning segment.", run, Reasoning{Segment: "s1", Offset: 0, Text: "Let me see"}), parseReasoning),
	faster(spec[Delta]("More of a text segment.", run, Delta{Segment: "s2", Offset: 12, Text: "Hello 你好 <b>&\n"}), parseDelta),
	spec[SegmentEnd]("A segment is complete.", run|structural, sampleSegmentEnd),
	spec[ToolDrafting]("More of a tool call's arguments, as the model writes them.", run, sampleToolDrafting),
	spec[ToolCall]("A tool call is complete and about to be run.", run|structural, sampleToolCall, sampleBadToolCall),
	spec[ToolProgress]("Output of a tool while it runs.", run, ToolProgress{Call: "call_1", Note: "12 files"}),
	spec[ApprovalRequest]("A call waits for a person's decision.", run|structural, sampleApprovalRequest),
	spec[ApprovalResolved]("A call's request was decided, or ended without a decision.", run|structural, sampleApprovalResolved, sampleApprovalEdited),
	spec[ToolResult]("A tool call ended.", run|structural, sampleToolResult),
	spec[Usage]("What the run took.", run|structural, sampleUsage),
	spec[Cancelled]("A person stopped the run.", run|structural|terminal, Cancelled{By: "owner", Via: Via{Surface: "web"}}),
	spec[Error]("The run failed; what it said stays.", run|structural|terminal, sampleError),
	spec[End]("The run is complete.", run|structural|terminal, End{Finish: FinishStop, Chars: 5, SHA256: sampleSHA256}),
	spec[Title]("The conversation was named.", structural, Title{Title: "Disk space"}),
	spec[VersionActive]("Another version of an answer is shown.", structural, VersionActive{Message: "m_2", Run: "r_1"}),
	spec[MessageDeleted]("A turn was deleted; it is hidden at once.", structural, MessageDeleted{Message: "m_1", Via: Via{Surface: "web"}}),
	spec[MessageRestored]("A deletion was undone.", structural, MessageRestored{Message: "m_1"}),
	spec[Erased]("A tombstone in the place of an erased record.", structural, Erased{Was: "user_message", Bytes: 120}),
	spec[Queue]("The queue of messages changed.", structural, sampleQueue),
	spec[ForkedFrom]("The conversation began as a copy of another's head.", structural, ForkedFrom{Conversation: "default", Message: "m_2", Seq: 41}),
	spec[Settings]("Settings of the conversation changed.", structural, sampleSettings),
	spec[ConversationDeleted]("Everything before it is hidden.", structural, ConversationDeleted{Via: Via{Surface: "web"}}),
	spec[ConversationRestored]("Undoes conversation_deleted: what it hid is shown again.", structural, ConversationRestored{}),
}

var byKind = func() map[Kind]Spec {
	m := make(map[Kind]Spec, len(specs))
	for _, s := range specs {
		m[s.Kind] = s
	}
	return m
}()

const sampleSHA256 = "185f8db32271fe25f561a6fc938b2e264306ec304eda518007d1764826381969"
