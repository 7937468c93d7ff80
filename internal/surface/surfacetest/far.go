// Package surfacetest is the suite that every platform passes: what its calls
// come to under each fault of the far end, what a reader then sees, and that what
// people write arrives once. It runs in virtual time over a network in memory.
package surfacetest

import (
	"sync"
	"time"

	"verbatim/internal/surface"
)

// Fault is what the far end does with a call.
type Fault string

// The faults. A far end whose format has no such answer behaves as is said here.
const (
	// Fine takes the call and says so.
	Fine Fault = "fine"
	// Refuse answers with the platform's own 4xx for this message for ever.
	Refuse Fault = "refuse"
	// RefuseMarkup is the platform's own 4xx for markup; a post that has none is
	// taken.
	RefuseMarkup Fault = "refuse_markup"
	// Busy is the platform's own error that may be tried again; the call was
	// surely not taken.
	Busy Fault = "busy"
	// Limit is 429 with a retry_after of LimitTime, in the platform's own form.
	Limit Fault = "limit"
	// LimitInside is the same in an answer with status 200, where the format has
	// that; else it is Limit.
	LimitInside Fault = "limit_inside"
	// Lost takes the call and cuts the connection before the answer.
	Lost Fault = "lost"
	// Cut reads the request whole, does not take it, and cuts the connection.
	Cut Fault = "cut"
	// Gateway is the bare 502 of a proxy, in HTML; the call was not taken.
	Gateway Fault = "gateway"
	// GatewayTaken is the bare 504 of a proxy, in HTML; the call was taken.
	GatewayTaken Fault = "gateway_taken"
	// Slow takes the call at once and answers after SlowTime.
	Slow Fault = "slow"
	// Stall takes the call at once and never answers, until the client leaves.
	Stall Fault = "stall"
	// Lie says that all is well, and shows nothing or keeps the old text.
	Lie Fault = "lie"
	// Garbled, of a reading call alone, is a 200 with a body that is cut in the
	// middle of its JSON.
	Garbled Fault = "garbled"
)

const (
	// LimitTime is how long a Limit forbids calls.
	LimitTime = 2 * time.Second
	// SlowTime is how long a Slow call takes; a call of the suite is given
	// CallTime.
	SlowTime = 5 * time.Second
	// CallTime is the deadline of a call.
	CallTime = 15 * time.Second
)

// Far is the other end of a platform: a server that behaves as the platform's
// documentation says, with the faults it is told.
type Far interface {
	// Next sets what becomes of the next calls that change something (send,
	// edit), one fault each; after them all are Fine. Calls that read, typing
	// and uploads are not counted and not hit.
	Next(faults ...Fault)
	// Shown returns the own posts of a chat as a reader sees them, oldest first.
	Shown(chat surface.Chat) []surface.Seen
	// Calls returns how many sends and edits were received, whatever became of
	// them.
	Calls() int
	// Early returns how many calls came before a retry_after that the far end
	// told was over.
	Early() int
	// Say lets a person write m.Text (with m.Files, as m.Sender) in m.Chat, and
	// returns the platform's id of the message. m.Direct and m.Mentioned are
	// made so by the platform's own means. With an m.ID it is that message once
	// more, as a platform that pushes does when it isn't sure; one that doesn't
	// push then does nothing.
	Say(m surface.Message) (id string)
}

// Polled is a Far that is asked for what people did. Each platform that is not
// only called by HTTP has one.
type Polled interface {
	// NextRead sets what becomes of the next calls that ask for what people did
	// (or that prepare it, such as a registration), one fault each: Busy, Limit,
	// Lost (what was asked for is given out, and the connection cut before it
	// arrives), Cut, Gateway, Garbled or Stall.
	NextRead(faults ...Fault)
}

// Changed is a Far where people can change what stands there: their own words,
// and the posts of the account as an owner of the chat may.
type Changed interface {
	// Rewrite lets the person who wrote a message change its text.
	Rewrite(chat surface.Chat, id, text string)
	// Erase deletes a message, a person's or a post.
	Erase(chat surface.Chat, id string)
}

// Pressed is a Far whose posts have buttons.
type Pressed interface {
	// Press lets a person press the button with this data under a post.
	Press(chat surface.Chat, platformID, data string, by surface.Person)
	// Told returns the lines that people who pressed were shown, oldest first.
	Told() []string
}

// Faults is the part that all far ends have in common: the faults to come and
// the count of calls. The zero value is ready to use, and safe for concurrent
// use.
type Faults struct {
	mu    sync.Mutex
	next  []Fault
	reads []Fault
	calls int
	early int
	until time.Time
}

// Next is Far.Next.
func (f *Faults) Next(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append([]Fault(nil), faults...)
}

// NextRead is Polled.NextRead.
func (f *Faults) NextRead(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reads = append([]Fault(nil), faults...)
}

// Take counts a call that changes something and returns what becomes of it.
// While a limit is on, which Limited began, the call is counted as early and is
// hit by Limit, whatever was to come.
func (f *Faults) Take(now time.Time) Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if now.Before(f.until) {
		f.early++
		return Limit
	}
	return pop(&f.next)
}

// TakeRead returns what becomes of a call that reads what people did.
func (f *Faults) TakeRead() Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	return pop(&f.reads)
}

// Limited begins a limit at now, and returns how long it still is: LimitTime, or
// what is left of one that is on.
func (f *Faults) Limited(now time.Time) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now.Before(f.until) {
		f.until = now.Add(LimitTime)
	}
	return f.until.Sub(now)
}

// Calls is Far.Calls.
func (f *Faults) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Early is Far.Early.
func (f *Faults) Early() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.early
}

func pop(list *[]Fault) Fault {
	if len(*list) == 0 {
		return Fine
	}
	first := (*list)[0]
	*list = (*list)[1:]
	return first
}
