package delivery

import "time"

// Defaults of a Policy.
const (
	DefaultEditInterval    = 800 * time.Millisecond
	DefaultBufferThreshold = 24
	DefaultMaxAge          = 24 * time.Hour
)

// Level is how much of something is shown.
type Level string

// The levels. Of tools, truncated is a line a call.
const (
	ShowNothing    Level = "nothing"
	ShowTruncated  Level = "truncated"
	ShowEverything Level = "everything"
)

// Reasoning is how reasoning is shown.
type Reasoning string

// The ways.
const (
	ReasoningNone       Reasoning = "none"
	ReasoningCode       Reasoning = "code"
	ReasoningBlockquote Reasoning = "blockquote"
	ReasoningSubtext    Reasoning = "subtext"
)

// Policy is what a surface shows, and how often. The zero value is not the
// default: see DefaultPolicy.
type Policy struct {
	Reasoning  Reasoning
	Tools      Level
	Commentary bool
	// Streaming lets posts grow where the surface edits, and long text go out
	// in pieces where it doesn't.
	Streaming bool
	// EditInterval is the least time between two edits in a chat,
	// BufferThreshold the least number of new characters for one.
	EditInterval    time.Duration
	BufferThreshold int
	// MaxAge is how old what is posted may be; what is older is announced.
	MaxAge time.Duration
	// Echo posts messages from elsewhere as a quoted line.
	Echo bool
	// NoAnswer posts a line for a run that came to no answer.
	NoAnswer bool
	// Link, if set, is where a person finds what is not shown: the web address
	// of the server.
	Link string
}

// DefaultPolicy is that of a surface of which nothing is configured.
func DefaultPolicy() Policy {
	return Policy{
		Reasoning: ReasoningNone, Tools: ShowTruncated, Commentary: true, Streaming: true,
		EditInterval: DefaultEditInterval, BufferThreshold: DefaultBufferThreshold, MaxAge: DefaultMaxAge,
		Echo: true, NoAnswer: true,
	}
}
