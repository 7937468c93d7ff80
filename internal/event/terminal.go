package event

// Usage says what a run took. It comes before the run's terminal whenever the
// model was called.
type Usage struct {
	// Chars counts the code points of the run's deltas.
	Chars int64 `json:"chars"`
	// Seconds is from start to the end of the last round.
	Seconds float64 `json:"seconds"`
	// TTFT is the seconds from start to the first reasoning or text; 0 when
	// none came.
	TTFT            float64 `json:"ttft"`
	InputTokens     int64   `json:"input_tokens"`
	OutputTokens    int64   `json:"output_tokens"`
	ReasoningTokens int64   `json:"reasoning_tokens"`
	CachedTokens    int64   `json:"cached_tokens"`
	Model           string  `json:"model"`
	Rounds          []Round `json:"rounds"`
}

// Kind returns "usage".
func (Usage) Kind() Kind { return "usage" }

// Round is one call of the model inside a run.
type Round struct {
	// Input, Cached and Output are in tokens, as the provider counts them.
	Input  int64 `json:"input"`
	Cached int64 `json:"cached"`
	Output int64 `json:"output"`
	// TextBytes is the length of the round's text in bytes of UTF-8.
	TextBytes int64 `json:"text_bytes"`
	// Tools counts the calls that the round asked for.
	Tools int `json:"tools"`
}

// Cancelled ends a run that a person stopped.
type Cancelled struct {
	By  string `json:"by"`
	Via Via    `json:"via"`
}

// Kind returns "cancelled".
func (Cancelled) Kind() Kind { return "cancelled" }

// ErrorKind is the coarse class of a failed run that clients branch on.
type ErrorKind string

// The five kinds.
const (
	ErrorAuth      ErrorKind = "auth"
	ErrorRateLimit ErrorKind = "rate_limit"
	ErrorNoAnswer  ErrorKind = "no_answer"
	ErrorEmpty     ErrorKind = "empty"
	ErrorInternal  ErrorKind = "internal"
)

// Known reports whether k is one of the five.
func (k ErrorKind) Known() bool {
	switch k {
	case ErrorAuth, ErrorRateLimit, ErrorNoAnswer, ErrorEmpty, ErrorInternal:
		return true
	}
	return false
}

// ErrorCode is finer than ErrorKind.
type ErrorCode string

// The codes. An error whose kind says it all has none.
const (
	CodeNone          ErrorCode = ""
	CodeQuota         ErrorCode = "quota"
	CodeOverloaded    ErrorCode = "overloaded"
	CodeContextLength ErrorCode = "context_length"
	CodeContentFilter ErrorCode = "content_filter"
	CodeTimeout       ErrorCode = "timeout"
	CodeNetwork       ErrorCode = "network"
	CodeToolLoop      ErrorCode = "tool_loop"
	CodeConfig        ErrorCode = "config"
	CodeInterrupted   ErrorCode = "interrupted"
	CodeReasoningOnly ErrorCode = "reasoning_only"
	CodeDiskFull      ErrorCode = "disk_full"
	CodeBug           ErrorCode = "bug"
)

// Known reports whether c is in the list, CodeNone included.
func (c ErrorCode) Known() bool {
	switch c {
	case CodeNone, CodeQuota, CodeOverloaded, CodeContextLength, CodeContentFilter, CodeTimeout, CodeNetwork,
		CodeToolLoop, CodeConfig, CodeInterrupted, CodeReasoningOnly, CodeDiskFull, CodeBug:
		return true
	}
	return false
}

// Error ends a run that failed. What it said before stays and is shown.
type Error struct {
	Type ErrorKind `json:"kind"`
	Code ErrorCode `json:"code"`
	// Message tells a person what happened and what to do next.
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	// RetryAfter is in seconds; 0 when the provider named none.
	RetryAfter float64 `json:"retry_after,omitempty"`
}

// Kind returns "error".
func (Error) Kind() Kind { return "error" }

// Finish is why the model stopped.
type Finish string

// The reasons to finish.
const (
	FinishStop          Finish = "stop"
	FinishLength        Finish = "length"
	FinishContentFilter Finish = "content_filter"
)

// End ends a run that is complete.
type End struct {
	Finish Finish `json:"finish"`
	// Chars counts the code points, and SHA256 (hex) is the hash, of the
	// concatenation of the run's deltas.
	Chars  int64  `json:"chars"`
	SHA256 string `json:"sha256"`
}

// Kind returns "end".
func (End) Kind() Kind { return "end" }

var (
	sampleUsage = Usage{
		Chars: 5, Seconds: 1.2, TTFT: 0.3, InputTokens: 7, OutputTokens: 5, Model: "openai/gpt-5-mini",
		Rounds: []Round{{Input: 7, Output: 5, TextBytes: 5, Tools: 1}},
	}
	sampleError = Error{Type: ErrorRateLimit, Code: CodeQuota, Message: "The provider's quota is used up.", Retryable: true, RetryAfter: 9}
)
