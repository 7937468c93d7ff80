package chat

import "fmt"

// Code is the class of a refused command. Doors map it to their own status.
type Code string

// The codes of a refusal.
const (
	// Invalid: the request makes no sense as it is.
	Invalid Code = "invalid"
	// Missing: it names something that is not there.
	Missing Code = "missing"
	// Conflict: it came at the wrong moment, or rows moved since.
	Conflict Code = "conflict"
	// Mismatch: the run id was used for another request.
	Mismatch Code = "mismatch"
	// TooMany: what it would add to has its most already.
	TooMany Code = "too_many"
	// Full: the disk has no room for a new run.
	Full Code = "full"
	// Stopping: the process is shutting down.
	Stopping Code = "stopping"
)

// Error is a refused command: nothing was changed.
type Error struct {
	Code Code
	// Message is a sentence for people that says what to do next.
	Message string
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

func refuse(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
