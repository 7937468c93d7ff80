package sse

import (
	"cmp"
	"slices"
)

// Sizes of pages. A page is the most that one write to a socket takes and the
// most that a slow follower keeps alive; it begins small, so that a run of few
// words costs little.
const (
	minPageBytes = 2 << 10
	maxPageBytes = 256 << 10
)

// mark says where a frame ends in its page and which record it tells of.
type mark struct {
	seq int64
	end int
}

// page holds whole frames, each one an HTTP chunk. Bytes are only ever added
// behind the others, so whoever holds a slice of a page may read it without a
// lock.
type page struct {
	base  int64
	buf   []byte
	marks []mark
}

// end is the offset behind the page's last byte.
func (p *page) end() int64 { return p.base + int64(len(p.buf)) }

// seq is the record that the page's last frame tells of.
func (p *page) seq() int64 { return p.marks[len(p.marks)-1].seq }

// byteLog is the tail of a run's stream as it goes over the wire. An offset
// counts the bytes since the stream began; the head of what is kept moves up.
type byteLog struct {
	pages []*page
	// end is the offset behind the last frame.
	end int64
	// dropped is the record of the last frame that is no longer kept.
	dropped int64
	// size is what the pages take, limit what they may take after trim.
	size, limit int
}

// add appends a frame, as one HTTP chunk.
func (l *byteLog) add(seq int64, frame []byte) {
	n := chunkLen(len(frame))
	p := l.room(n)
	p.buf = appendChunk(p.buf, frame)
	p.marks = append(p.marks, mark{seq: seq, end: len(p.buf)})
	l.end += int64(n)
}

// room returns the last page if n bytes fit, be it that it grows, else a new
// one.
func (l *byteLog) room(n int) *page {
	// Many pages to the limit, so that dropping one drops little.
	most := min(maxPageBytes, l.limit/16)
	size := minPageBytes
	if len(l.pages) > 0 {
		last := l.pages[len(l.pages)-1]
		need := len(last.buf) + n
		if need <= cap(last.buf) {
			return last
		}
		if need <= most {
			l.grow(last, min(max(need, 2*cap(last.buf)), most))
			return last
		}
		size = cap(last.buf)
	}
	p := &page{base: l.end}
	l.pages = append(l.pages, p)
	l.grow(p, max(n, min(size, most)))
	return p
}

// grow moves a page to a buffer of its own of another size. Who holds a slice of
// the old one keeps that.
func (l *byteLog) grow(p *page, size int) {
	l.size += size - cap(p.buf)
	p.buf = append(make([]byte, 0, size), p.buf...)
}

// trim drops the oldest pages until the rest is within the limit.
func (l *byteLog) trim() {
	n := 0
	for l.size > l.limit && n < len(l.pages) {
		l.size -= cap(l.pages[n].buf)
		l.dropped = l.pages[n].seq()
		n++
	}
	l.pages = slices.Delete(l.pages, 0, n)
}

// clear drops all pages.
func (l *byteLog) clear() {
	if n := len(l.pages); n > 0 {
		l.dropped = l.pages[n-1].seq()
	}
	l.pages, l.size = nil, 0
}

// at returns the page that holds the byte at off, nil when it is not kept or
// not there yet.
func (l *byteLog) at(off int64) *page {
	n := len(l.pages)
	if n == 0 || off >= l.end || off < l.pages[0].base {
		return nil
	}
	if last := l.pages[n-1]; off >= last.base {
		return last
	}
	i, found := slices.BinarySearchFunc(l.pages, off, func(p *page, off int64) int { return cmp.Compare(p.base, off) })
	if !found {
		i--
	}
	return l.pages[i]
}

// find returns the offset of the first frame after a record, which is the end
// when there is none yet; false when it is no longer kept.
func (l *byteLog) find(after int64) (off int64, kept bool) {
	p, from := l.first(after)
	switch {
	case after < l.dropped:
		return 0, false
	case p == nil:
		return l.end, true
	case from == 0:
		return p.base, true
	}
	return p.base + int64(p.marks[from-1].end), true
}

// first returns the page of the first frame after a record and the frame's
// index there; nil when there is none.
func (l *byteLog) first(after int64) (*page, int) {
	i, _ := slices.BinarySearchFunc(l.pages, after, func(p *page, after int64) int {
		if p.seq() <= after {
			return -1
		}
		return 1
	})
	if i == len(l.pages) {
		return nil, 0
	}
	p := l.pages[i]
	from, _ := slices.BinarySearchFunc(p.marks, after, func(m mark, after int64) int {
		if m.seq <= after {
			return -1
		}
		return 1
	})
	return p, from
}
