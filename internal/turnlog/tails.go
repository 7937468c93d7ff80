package turnlog

import (
	"container/list"
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

// tail is an unbroken run of records that ends with the conversation's last.
// Its slice only grows at the end, so readers share it without a copy.
type tail struct {
	conversation id.Conversation
	records      []event.Record
	bytes        int
}

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
	t.records = append(t.records, records...)
	gone := 0
	for ; t.bytes > limit && gone < len(t.records)-1; gone++ {
		t.bytes -= weight(&t.records[gone])
	}
	t.records = t.records[gone:]
}

// after returns what follows a seq, if all that the caller may get is here.
func (t *tails) after(c id.Conversation, after int64, limit Limit) ([]event.Record, bool) {
	t.mu.RLock()
	records := t.records(c)
	t.mu.RUnlock()
	if len(records) == 0 || after < records[0].Seq-1 {
		return nil, false
	}
	if after >= records[len(records)-1].Seq {
		return nil, true
	}
	records = records[after-(records[0].Seq-1):]
	n := limit.fit(records)
	return records[:n:n], true
}

func (t *tails) records(c id.Conversation) []event.Record {
	if e := t.of[c]; e != nil {
		return e.Value.(*tail).records
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
	records := t.records(c)
	if len(records) == 0 {
		return 0, false
	}
	return records[len(records)-1].Seq, true
}
