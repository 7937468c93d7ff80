package netguard

import "fmt"

// Kind is why no connection was made.
type Kind int

// The kinds.
const (
	// Invalid means that the address makes no sense or is spelt in a way that
	// programs read differently.
	Invalid Kind = iota + 1
	// Refused means that the host has an address that is not public.
	Refused
	// Unknown means that there is no such host.
	Unknown
	// Unreachable means that the host did not take the connection.
	Unreachable
	// Late means that the host could not be reached in time.
	Late
)

// Error is a connection that was not made. Its text is for those who asked and
// tells no address that a name has.
type Error struct {
	Kind Kind
	// Host is as it was asked for.
	Host string
	// cause is what the system said. It may hold addresses and is only for
	// those who look for an error inside.
	cause error
}

// Error returns one sentence.
func (e *Error) Error() string {
	switch e.Kind {
	case Refused:
		return fmt.Sprintf("%q is not on the public internet, so it was not contacted", e.Host)
	case Unknown:
		return fmt.Sprintf("there is no host %q", e.Host)
	case Unreachable:
		return fmt.Sprintf("%q can't be reached", e.Host)
	case Late:
		return fmt.Sprintf("%q could not be reached in time", e.Host)
	default:
		return fmt.Sprintf("%q is not an address that can be used; write it as http://host/ or https://host/ with an ordinary host name", e.Host)
	}
}

// Unwrap returns what the system said, or nil.
func (e *Error) Unwrap() error { return e.cause }
