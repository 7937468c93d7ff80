package load

// dechunk takes HTTP chunk framing out of a stream of bytes, in place. A nil
// dechunk leaves the bytes as they are.
type dechunk struct {
	state dechunkState
	n     int
	// done is set by the last chunk: the stream ended as it should.
	done bool
}

type dechunkState byte

const (
	inSize dechunkState = iota
	inData
	inLineEnd
)

// decode returns the payload in b, which it overwrites.
func (d *dechunk) decode(b []byte) []byte {
	if d == nil {
		return b
	}
	out := b[:0]
	for len(b) > 0 {
		if d.state == inData {
			k := min(len(b), d.n)
			out = append(out, b[:k]...)
			b = b[k:]
			if d.n -= k; d.n == 0 {
				d.state = inLineEnd
			}
			continue
		}
		d.frame(b[0])
		b = b[1:]
	}
	return out
}

// frame takes one byte that is not payload.
func (d *dechunk) frame(c byte) {
	switch {
	case c == '\n' && d.state == inLineEnd:
		d.state, d.n = inSize, 0
	case c == '\n' && d.n == 0:
		d.done = true
	case c == '\n':
		d.state = inData
	case c >= '0' && c <= '9':
		d.n = d.n<<4 + int(c-'0')
	case c|32 >= 'a' && c|32 <= 'f':
		d.n = d.n<<4 + int(c|32-'a') + 10
	}
}
