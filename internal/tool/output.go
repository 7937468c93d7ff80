package tool

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// How much of an output is shown, from its end, and how much of it is kept,
// from its beginning.
const (
	MaxShownRunes = 20_000
	MaxShownLines = 2_000
	MaxKeptBytes  = 64 << 20
)

// Spool keeps an output that is too long to be shown whole.
type Spool interface {
	io.Writer
	// Commit makes what was written durable and names it.
	Commit() (blob string, size int64, err error)
	// Abort drops what was written.
	Abort()
}

// OutputConfig is what a Keeper is made with.
type OutputConfig struct {
	// Spool begins a place for the whole output. It is called at most once,
	// and only if the output is too long to be shown. If nil, only what is
	// shown is kept.
	Spool func() (Spool, error)
	// Progress takes what is shown while the call runs; nil for nobody. It is
	// never called twice at a time, nor after Result or Close.
	Progress func(note string)
}

// Keeper is an Output that keeps what a call writes: the whole up to
// MaxKeptBytes in a spool, and the end to be shown. All of it is valid UTF-8,
// each byte that is not is replaced by U+FFFD.
type Keeper struct {
	cfg      OutputConfig
	progress progress

	mu     sync.Mutex
	joiner utf8Joiner
	tail   tail
	bytes  int64
	spool  Spool
	// kept is how much the spool has, of at most mostKept; full says that it
	// takes no more.
	kept, mostKept int
	full           bool
	// spoolErr is why the whole is not kept.
	spoolErr error
	closed   bool
	result   result
}

type result struct {
	shown     string
	truncated bool
	bytes     int64
	blob      string
	err       error
}

// NewOutput returns an empty Keeper. Its owner ends it with Result or Close.
func NewOutput(cfg OutputConfig) *Keeper {
	return &Keeper{cfg: cfg, progress: progress{send: cfg.Progress}, mostKept: MaxKeptBytes}
}

var errNoSpool = errors.New("there is no place to keep it")

// errOutputEnded is what a call gets that goes on writing after its end.
var errOutputEnded = errors.New("the output of this call has ended")

// pieceBytes is how much is taken in at a time, so that the largest write
// costs little memory.
const pieceBytes = 32 << 10

// Write takes output. It fails only after Result or Close: where the whole
// can't be kept, the end is all the same, and Result tells.
func (k *Keeper) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return 0, errOutputEnded
	}
	for rest := p; len(rest) > 0; {
		n := min(len(rest), pieceBytes)
		k.take(k.joiner.add(rest[:n]))
		rest = rest[n:]
	}
	return len(p), nil
}

// Live makes what is written from now on go to Progress too. Calling it again
// changes nothing.
func (k *Keeper) Live() { k.progress.begin() }

// take keeps a piece of valid text.
func (k *Keeper) take(text []byte) {
	k.bytes += int64(len(text))
	k.progress.add(text)
	if k.spool != nil {
		k.keep(text)
	}
	k.tail.add(text)
	if k.tail.over() && k.spool == nil && k.spoolErr == nil {
		k.openSpool()
	}
	k.tail.trim()
}

// openSpool begins to keep the whole with what came so far, which the tail
// still has: it is trimmed only after it was first found to be too long.
func (k *Keeper) openSpool() {
	if k.cfg.Spool == nil {
		k.spoolErr = errNoSpool
		return
	}
	spool, err := k.cfg.Spool()
	if err != nil {
		k.spoolErr = err
		return
	}
	k.spool = spool
	k.keep(k.tail.buf)
}

// keep spools text up to the bound. What follows the first piece that is cut is
// not kept either: there are no gaps.
func (k *Keeper) keep(text []byte) {
	if k.full {
		return
	}
	n := cutAt(text, k.mostKept-k.kept)
	k.kept += n
	k.full = n < len(text)
	if _, err := k.spool.Write(text[:n]); err != nil {
		k.drop(err)
	}
}

// drop gives up keeping the whole.
func (k *Keeper) drop(err error) {
	k.spool.Abort()
	k.spool, k.spoolErr = nil, err
}

// Result ends the output and returns what is to be stored: the text to show,
// whether that is only the end of the output, the length of the whole output in
// bytes, and the blob that holds the whole, or its first MaxKeptBytes. blob is
// empty if all is shown. err says why the whole was not kept; the rest holds
// all the same, and the text says so too. Called again it returns the same.
func (k *Keeper) Result() (shown string, truncated bool, bytes int64, blob string, err error) {
	k.progress.end()
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.closed = true
		k.take(k.joiner.rest())
		k.result = k.finish()
	}
	r := k.result
	return r.shown, r.truncated, r.bytes, r.blob, r.err
}

func (k *Keeper) finish() result {
	r := result{bytes: k.bytes}
	shown := k.tail.shown()
	if int64(len(shown)) == k.bytes {
		r.shown = string(shown)
		return r
	}
	r.truncated = true
	if k.spool != nil {
		blob, _, err := k.spool.Commit()
		if err != nil {
			k.spoolErr = err
		}
		k.spool = nil
		r.blob = blob
	}
	if k.spoolErr != nil {
		r.blob = ""
		r.err = fmt.Errorf("the whole output was not kept: %w", k.spoolErr)
	}
	r.shown = k.missing(int64(len(shown))) + string(shown)
	return r
}

// missing is the line that says what is left out.
func (k *Keeper) missing(shown int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[the first %s of %s are left out here; ", countOf(k.bytes-shown, "byte"), countOf(k.bytes, "byte"))
	switch {
	case k.spoolErr != nil:
		b.WriteString("they were not kept")
	case k.full:
		fmt.Fprintf(&b, "only the first %s of the output are kept", countOf(int64(k.kept), "byte"))
	default:
		b.WriteString("the whole output is kept")
	}
	b.WriteString("]\n")
	return b.String()
}

// Close drops the output, unless Result was called. It may be called twice.
func (k *Keeper) Close() error {
	k.progress.end()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	k.result.err = errOutputEnded
	if k.spool != nil {
		k.spool.Abort()
		k.spool = nil
	}
	return nil
}
