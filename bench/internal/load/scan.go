package load

import "bytes"

// Every token carries ^^, its send time in 19 digits of Unix nanoseconds, a
// dash and its number in 8 digits, so that a stream can be checked wherever it
// was re-framed on the way.
const (
	mark     = "^^"
	timeLen  = 19
	seqLen   = 8
	tokenLen = len(mark) + timeLen + 1 + seqLen
)

var frameEnd = []byte("\n\n")

// Tally counts what one reader saw. Each token is one event.
type Tally struct {
	Events, Bytes int64
	// Lost events are missing numbers, Repeated ones came twice in a row,
	// Reordered ones came after a later one. WrongIDs are SSE ids that do
	// not rise.
	Lost, Repeated, Reordered, WrongIDs int64
	KeepAlives                          int64
}

// Add adds what another reader saw.
func (t *Tally) Add(o Tally) {
	t.Events += o.Events
	t.Bytes += o.Bytes
	t.Lost += o.Lost
	t.Repeated += o.Repeated
	t.Reordered += o.Reordered
	t.WrongIDs += o.WrongIDs
	t.KeepAlives += o.KeepAlives
}

// Wrong is the number of things that must not happen.
func (t *Tally) Wrong() int64 { return t.Lost + t.Repeated + t.Reordered + t.WrongIDs }

// scanner finds tokens in a stream and checks their order.
type scanner struct {
	Tally
	last, lastID int64
	epoch        string
	carry        []byte
	// sent, when set, is told the send time of each token.
	sent func(unixNano int64)
}

// scan reads the tokens in b. What is cut off at the end waits for the next
// call; b is not kept.
func (s *scanner) scan(b []byte) {
	if len(s.carry) > 0 {
		b = append(s.carry, b...)
		s.carry = nil
	}
	for {
		i := bytes.Index(b, []byte(mark))
		if i < 0 {
			s.rest(b)
			return
		}
		s.comments(b[:i])
		b = b[i:]
		n := bytes.Index(b, frameEnd)
		if n < 0 {
			s.carry = append([]byte(nil), b...)
			return
		}
		s.frame(b[:n])
		b = b[n+len(frameEnd):]
	}
}

// rest looks at bytes without a token. A single mark character may be half of
// one.
func (s *scanner) rest(b []byte) {
	if len(b) == 0 {
		return
	}
	s.comments(b)
	if b[len(b)-1] == mark[0] {
		s.carry = []byte{mark[0]}
	}
}

// comments counts keep-alives at the beginning of bytes without a token, where
// they are in a silent stream; it must not cost much in a busy one.
func (s *scanner) comments(b []byte) {
	if len(b) > 0 && b[0] == ':' {
		s.KeepAlives += int64(bytes.Count(b, []byte(": keep-alive")))
	}
}

// frame takes what follows a mark up to the end of its frame.
func (s *scanner) frame(b []byte) {
	if len(b) < tokenLen {
		return
	}
	at, ok := digits(b[len(mark) : len(mark)+timeLen])
	seq, ok2 := digits(b[tokenLen-seqLen : tokenLen])
	if !ok || !ok2 {
		return
	}
	s.Events++
	s.order(seq)
	s.id(b)
	if s.sent != nil {
		s.sent(at)
	}
}

func (s *scanner) order(seq int64) {
	switch {
	case seq > s.last:
		s.Lost += seq - s.last - 1
		s.last = seq
	case seq == s.last:
		s.Repeated++
	default:
		s.Reordered++
	}
}

// id checks the frame's SSE id, if its last line is one: a number, with the
// epoch and a dash before it in the product's frames.
func (s *scanner) id(b []byte) {
	line, ok := bytes.CutPrefix(b[bytes.LastIndexByte(b, '\n')+1:], []byte("id: "))
	if !ok {
		return
	}
	dash := bytes.LastIndexByte(line, '-')
	id, ok := digits(line[dash+1:])
	if !ok || id <= s.lastID {
		s.WrongIDs++
		return
	}
	s.lastID = id
	if s.epoch == "" && dash > 0 {
		s.epoch = string(line[:dash])
	}
}

func digits(b []byte) (int64, bool) {
	var v int64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		v = v*10 + int64(c-'0')
	}
	return v, len(b) > 0
}
