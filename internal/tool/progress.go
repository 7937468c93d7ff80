package tool

import (
	"sync"
	"time"
	"unicode/utf8"
)

// What is shown of a call while it runs: the least time between two notes, the
// longest note, and all notes of the call together.
const (
	MinNoteTime      = 250 * time.Millisecond
	MaxNoteBytes     = 8 << 10
	MaxProgressBytes = 64 << 10
)

// moreComes ends the last note of a call that writes more than is shown while
// it runs. It counts as part of the notes.
const moreComes = "\n[the rest is shown at the end]\n"

// progress sends text on in notes, each in good time after the one before. It
// has no goroutine of its own: a timer runs while something waits to be sent.
type progress struct {
	send func(note string)

	mu      sync.Mutex
	live    bool
	ended   bool
	pending []byte
	// taken counts what was added, to be sent or sent already.
	taken int
	timer *time.Timer
	last  time.Time
	// sending counts the timers that have not ended.
	sending sync.WaitGroup
}

func (p *progress) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = p.send != nil
}

// add takes valid text. Past the bound of a call it is dropped, after a word
// that says so.
func (p *progress) add(text []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	const most = MaxProgressBytes - len(moreComes)
	if !p.live || p.ended || len(text) == 0 || p.taken > most {
		return
	}
	n := cutAt(text, most-p.taken)
	p.pending = append(p.pending, text[:n]...)
	p.taken += n
	if n < len(text) {
		p.pending = append(p.pending, moreComes...)
		p.taken = MaxProgressBytes
	}
	p.arm()
}

// cutAt returns the most bytes of text, up to most, that end at a character.
func cutAt(text []byte, most int) int {
	if len(text) <= most {
		return len(text)
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return most
}

// arm sees to it that what is pending is sent as soon as it may be.
func (p *progress) arm() {
	if p.timer != nil || len(p.pending) == 0 {
		return
	}
	wait := time.Duration(0)
	if !p.last.IsZero() {
		wait = max(0, MinNoteTime-time.Since(p.last))
	}
	p.sending.Add(1)
	p.timer = time.AfterFunc(wait, p.note)
}

// note sends the next note, without holding the lock: the writer must not wait
// for those who look on.
func (p *progress) note() {
	defer p.sending.Done()
	p.mu.Lock()
	n := cutAt(p.pending, MaxNoteBytes)
	note := string(p.pending[:n])
	p.pending = p.pending[n:]
	p.last = time.Now()
	ended := p.ended
	p.mu.Unlock()
	if ended {
		return
	}
	p.send(note)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timer = nil
	if !p.ended {
		p.arm()
	}
}

// end drops what waits and returns when the last note was sent. It may be
// called twice.
func (p *progress) end() {
	p.mu.Lock()
	p.ended = true
	if p.timer != nil && p.timer.Stop() {
		p.sending.Done()
		p.timer = nil
	}
	p.mu.Unlock()
	p.sending.Wait()
}
