package agent

import (
	"sync"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// MaxInFlight is how many bytes of a run's events may wait for their commit
// before the run waits too.
const MaxInFlight = 256 << 10

// recordOverhead is counted for each event besides its text, so that many tiny
// ones are bounded too.
const recordOverhead = 64

// Log is what a run needs of the log.
type Log interface {
	Post(c id.Conversation, drafts []turnlog.Draft, done func([]event.Record, error))
}

// recorder hands a run's events to the log in order, without waiting for their
// commits while less than MaxInFlight is under way.
type recorder struct {
	log          Log
	conversation id.Conversation
	run          id.Run
	message      id.Message

	mu       sync.Mutex
	settled  sync.Cond // signalled when inFlight falls or err is set
	sizes    []int     // of the events under way, oldest first
	inFlight int
	err      error
}

func newRecorder(log Log, job Job) *recorder {
	r := &recorder{log: log, conversation: job.Conversation, run: job.Run, message: job.Message}
	r.settled.L = &r.mu
	return r
}

// record hands one event over. It fails once the log has refused an earlier
// one: nothing after that is written, so the run's records have no hole.
func (r *recorder) record(e event.Event, textBytes int) error {
	size := textBytes + recordOverhead
	r.mu.Lock()
	for r.err == nil && r.inFlight > 0 && r.inFlight+size > MaxInFlight {
		r.settled.Wait()
	}
	if r.err != nil {
		defer r.mu.Unlock()
		return r.err
	}
	r.sizes = append(r.sizes, size)
	r.inFlight += size
	r.mu.Unlock()
	r.log.Post(r.conversation, []turnlog.Draft{{Run: r.run, Message: r.message, Event: e}}, r.settle)
	return nil
}

// settle is called by the log's writer, in the order of the events.
func (r *recorder) settle(_ []event.Record, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.inFlight -= r.sizes[0]
	r.sizes = r.sizes[1:]
	if err != nil && r.err == nil {
		r.err = err
	}
	r.settled.Broadcast()
}

// sync waits until all that was recorded is durable, and returns the log's
// refusal if there was one. It does not end early with a context: the log
// always answers.
func (r *recorder) sync() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.inFlight > 0 {
		r.settled.Wait()
	}
	return r.err
}
