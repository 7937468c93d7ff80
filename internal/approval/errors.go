package approval

import (
	"errors"
	"fmt"

	"verbatim/internal/event"
)

// What callers branch on.
var (
	// ErrUnknown means that there never was such a request.
	ErrUnknown = errors.New("there is no such request for approval")
	// ErrDecided means that the request was decided otherwise, has expired or
	// was cancelled. Nothing was changed. The error is a *Decided, which says
	// more.
	ErrDecided = errors.New("this request was decided otherwise or has expired; nothing was changed")
	// ErrNoRule means that there is no such rule.
	ErrNoRule = errors.New("there is no such rule")
	// ErrInvalid means that the decision makes no sense as it is. The error's
	// text is a sentence for the person who made it.
	ErrInvalid = errors.New("the decision makes no sense as it is")
)

// Decided is the ErrDecided of one request: how that had ended before.
type Decided struct {
	// Decision is what the request came to; empty when the process that asked
	// ended before it knew.
	Decision event.Decision
}

// Error tells the person what happened instead.
func (d *Decided) Error() string {
	switch d.Decision {
	case event.DecisionExpired:
		return "this request has expired, which means deny; nothing was changed"
	case event.DecisionCancelled:
		return "the run of this request was stopped, which means deny; nothing was changed"
	case event.DecisionAllow, event.DecisionAlways, event.DecisionDeny:
		return fmt.Sprintf("this request was already answered with %q; nothing was changed", string(d.Decision))
	}
	return "nobody waits for this request any more; nothing was changed"
}

// Is makes every Decided an ErrDecided.
func (*Decided) Is(target error) bool { return target == ErrDecided }

// invalid is an ErrInvalid whose text is the reason alone.
type invalid struct{ reason string }

func (e *invalid) Error() string        { return e.reason }
func (e *invalid) Is(target error) bool { return target == ErrInvalid }
