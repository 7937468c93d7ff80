package sse

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestByteLog compares places in the log with a list of all frames, for limits
// from nothing to everything.
func TestByteLog(t *testing.T) {
	for _, limit := range []int{0, 1, 100, 5000, 1 << 20} {
		t.Run(fmt.Sprint(limit, " bytes"), func(t *testing.T) {
			rnd := rand.New(rand.NewPCG(1, uint64(limit)))
			l := byteLog{limit: limit}
			var all []byte
			// begins has the offset of the frame of a seq, or of the next
			// frame after it.
			begins := []int64{0}
			seq := int64(0)
			for range 400 {
				seq += 1 + rnd.Int64N(3)
				frame := bytes.Repeat([]byte{byte('a' + seq%26)}, 1+rnd.IntN(300)*rnd.IntN(3))
				chunk := appendChunk(nil, frame)
				for int64(len(begins)) <= seq {
					begins = append(begins, int64(len(all)))
				}
				all = append(all, chunk...)
				l.add(seq, frame)
				if rnd.IntN(4) == 0 {
					l.trim()
					if l.size > limit {
						t.Fatalf("%d bytes kept", l.size)
					}
				}
				checkFind(t, &l, all, begins, seq, rnd)
			}
			if limit == 1<<20 && l.dropped != 0 {
				t.Error("dropped what there was room for")
			}
		})
	}
}

func checkFind(t *testing.T, l *byteLog, all []byte, begins []int64, last int64, rnd *rand.Rand) {
	t.Helper()
	for range 5 {
		after := rnd.Int64N(last + 2)
		want := int64(len(all))
		if after < last {
			want = begins[after+1]
		}
		off, kept := l.find(after)
		if kept != (after >= l.dropped) {
			t.Fatalf("find(%d): kept %v, dropped are the frames to %d", after, kept, l.dropped)
		}
		if !kept {
			continue
		}
		if off != want {
			t.Fatalf("find(%d): %d, want %d", after, off, want)
		}
		p := l.at(off)
		if (p == nil) != (off == l.end) {
			t.Fatalf("at(%d): %v at the end %d", off, p, l.end)
		}
		if p != nil && !bytes.HasPrefix(all[off:], p.buf[off-p.base:]) {
			t.Fatalf("at(%d): other bytes", off)
		}
	}
	if l.at(-1) != nil || l.at(l.end) != nil {
		t.Fatal("a page outside of the log")
	}
}

// TestPageGrows: a page takes more by growing, up to its bound, and who holds
// its bytes keeps them.
func TestPageGrows(t *testing.T) {
	l := byteLog{limit: 4 << 20}
	frame := bytes.Repeat([]byte("x"), 999)
	l.add(1, frame)
	held := l.pages[0].buf
	before := string(held)
	for seq := int64(2); l.end < 3*maxPageBytes; seq++ {
		l.add(seq, frame)
	}
	if n := len(l.pages); n != 4 {
		t.Errorf("%d bytes are on %d pages", l.end, n)
	}
	size := 0
	for _, p := range l.pages {
		if cap(p.buf) > maxPageBytes {
			t.Errorf("a page takes %d bytes", cap(p.buf))
		}
		size += cap(p.buf)
	}
	if size != l.size {
		t.Errorf("%d bytes taken, %d counted", size, l.size)
	}
	if string(held) != before || !bytes.HasPrefix(l.pages[0].buf, held) {
		t.Error("bytes changed that someone holds")
	}
}

func TestAppendBare(t *testing.T) {
	l := byteLog{limit: 1 << 20}
	var want []byte
	for i := range 40 {
		frame := bytes.Repeat([]byte("x\n"), i*9+1)
		l.add(int64(i+1), frame)
		if i >= 7 {
			want = append(want, frame...)
		}
	}
	var got []byte
	for after := int64(7); ; {
		p, from := l.first(after)
		if p == nil {
			break
		}
		start := 0
		if from > 0 {
			start = p.marks[from-1].end
		}
		got = appendBare(got, p.buf, p.marks[from:], start)
		after = p.seq()
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestKeepAliveChunk(t *testing.T) {
	if got := string(appendChunk(nil, []byte(KeepAlive))); got != keepAliveChunk {
		t.Errorf("got %q, want %q", keepAliveChunk, got)
	}
}
