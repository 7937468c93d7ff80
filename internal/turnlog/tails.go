package turnlog

import (
	"cmp"
	"container/list"
	"slices"
	"sync"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// tails caches the newest records of conversations by seq. It holds committed
// records only and nothing that the store has not: without it readers see the
// same.
type tails struct {
	each, total int // bytes at most, each below 0 for nothing

	mu    sync.RWMutex
	of    map[id.Conversation]*list.Element // of *tail
	order list.List                         // the longest without a commit first
	bytes int
}

// tail is an unbroken run of records that ends with the conversation's last, in
// pieces of which none is empty. Readers share the pieces without a copy: what
// is in one never changes, there only comes more behind it.
type tail struct {
	conversation id.Conversation
	pieces       [][]event.Record
	bytes        int
}

// pieceRecords is up to how many records a piece takes more. What a commit
// brought stays in the piece it came in, however long that is, so nothing is
// copied while much is written; and what came one by one lies together, so that
// few reads have to put pieces together.
const pieceRecords = 256

// recordBytes is about what a record takes beside its payload, which is there
// encoded and decoded.
const recordBytes = 256

func weight(r *event.Record) int { return recordBytes + 2*len(r.Body) }

func newTails(each, total int) *tails {
	return &tails{each: each, total: total, of: map[id.Conversation]*list.Element{}}
}

// add appends records that were just committed.
func (t *tails) add(c id.Conversation, records []event.Record) {
	if t.each < 0 || len(records) == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.of[c]
	if e == nil {
		e = t.order.PushBack(&tail{conversation: c})
		t.of[c] = e
	}
	t.order.MoveToBack(e)
	own := e.Value.(*tail)
	before := own.bytes
	own.add(records, t.each)
	t.bytes += own.bytes - before
	for t.bytes > t.total && t.order.Len() > 1 {
		t.drop(t.order.Front())
	}
}

// forget drops what is held of a conversation.
func (t *tails) forget(c id.Conversation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.of[c]; e != nil {
		t.drop(e)
	}
}

func (t *tails) drop(e *list.Element) {
	old := t.order.Remove(e).(*tail)
	delete(t.of, old.conversation)
	t.bytes -= old.bytes
}

func (t *tail) add(records []event.Record, limit int) {
	for i := range records {
		t.bytes += weight(&records[i])
	}
	if n := len(t.pieces); n > 0 && len(t.pieces[n-1])+len(records) <= pieceRecords {
		t.pieces[n-1] = append(t.pieces[n-1], records...)
	} else {
		t.pieces = append(t.pieces, records[:len(records):len(records)])
	}
	t.trim(limit)
}

// trim drops the oldest records until the rest is within the limit; the newest
// stays.
func (t *tail) trim(limit int) {
	gone := 0
	for t.bytes > limit {
		first := t.pieces[gone]
		if gone == len(t.pieces)-1 && len(first) == 1 {
			break
		}
		t.bytes -= weight(&first[0])
		if t.pieces[gone] = first[1:]; len(first) == 1 {
			gone++
		}
	}
	t.pieces = slices.Delete(t.pieces, 0, gone)
}

// head is the seq of the last record.
func (t *tail) head() int64 {
	last := t.pieces[len(t.pieces)-1]
	return last[len(last)-1].Seq
}

// after returns what follows a seq that is not before the tail.
func (t *tail) after(after int64, limit Limit) []event.Record {
	if after >= t.head() {
		return nil
	}
	i, found := slices.BinarySearchFunc(t.pieces, after+1, func(p []event.Record, seq int64) int { return cmp.Compare(p[0].Seq, seq) })
	if !found {
		i--
	}
	records := t.pieces[i][after+1-t.pieces[i][0].Seq:]
	n := limit.fit(records)
	if n < len(records) || i == len(t.pieces)-1 {
		return records[:n:n]
	}
	records = slices.Clone(records)
	for _, p := range t.pieces[i+1:] {
		records = append(records, p[:min(len(p), limit.Records-len(records))]...)
	}
	n = limit.fit(records)
	return records[:n:n]
}

// after returns what follows a seq, if all that the caller may get is here.
func (t *tails) after(c id.Conversation, after int64, limit Limit) ([]event.Record, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	own := t.get(c)
	if own == nil || after < own.pieces[0][0].Seq-1 {
		return nil, false
	}
	return own.after(after, limit), true
}

func (t *tails) get(c id.Conversation) *tail {
	if e := t.of[c]; e != nil {
		return e.Value.(*tail)
	}
	return nil
}

// fit counts how many of the records a read may return.
func (l Limit) fit(records []event.Record) int {
	size := 0
	for i := range records {
		if size += len(records[i].Body); i == l.Records || i > 0 && size > l.Bytes {
			return i
		}
	}
	return len(records)
}

func (t *tails) head(c id.Conversation) (int64, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	own := t.get(c)
	if own == nil {
		return 0, false
	}
	return own.head(), true
}
