package store

import (
	"database/sql/driver"
	"slices"
	"strconv"
	"sync"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// Records are first written to the recent table, in the order in which they
// came: a commit for a hundred conversations touches a few pages there, and a
// hundred in a table that is sorted by conversation. Upkeep moves the oldest to
// the event table later, many at a time, so that those of a conversation come
// to lie together. maxRecentBytes (of bodies) and Options.RecentRows bound the
// table, which a start has to read.
const maxRecentBytes = 2 << 20

// recent says what is in the recent table. It is read by everybody and changed
// by the writer, after its transaction: so a row is in the event table before it
// is missing here.
type recent struct {
	mu sync.RWMutex
	of map[id.Conversation]span

	maxRows int

	// Only the writer uses these. order is the table, oldest first; added is
	// what the open transaction put behind it, and heads the last seq of each
	// conversation in that; last is the newest key.
	order []row
	bytes int
	added []row
	heads map[id.Conversation]int64
	last  int64
	// left are conversations whose rows the open transaction takes away.
	left []id.Conversation
}

// row is a row of the recent table.
type row struct {
	key          int64
	conversation id.Conversation
	seq          int64
	bytes        int
}

// span is a conversation's part of the recent table: its last records, without
// a gap. keys is only ever added to, so whoever has a slice may read it.
type span struct {
	last int64   // the seq of its last row
	keys []int64 // of its rows, in the order of their seqs
}

// after returns the keys of the rows that follow a seq, at most n of them.
func (s span) after(seq int64, n int) []int64 {
	first := s.last - int64(len(s.keys)) + 1
	keys := s.keys[min(max(0, seq+1-first), int64(len(s.keys))):]
	return keys[:min(n, len(keys))]
}

func newRecent(maxRows int) *recent {
	return &recent{maxRows: maxRows, of: map[id.Conversation]span{}, heads: map[id.Conversation]int64{}}
}

// get returns a conversation's part, and false when it has none.
func (r *recent) get(name id.Conversation) (span, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s, ok := r.of[name]
	return s, ok
}

// add notes a record of the open transaction and returns the key for its row.
// Keys grow for as long as the process runs and are not used again, so an old
// one names no other row.
func (r *recent) add(record event.Record) (key int64) {
	r.last++
	r.added = append(r.added, row{r.last, record.Conversation, record.Seq, len(record.Body)})
	r.heads[record.Conversation] = record.Seq
	return r.last
}

// head returns the seq of a conversation's last row, those of the open
// transaction included; false when it has none.
func (r *recent) head(name id.Conversation) (seq int64, ok bool) {
	if seq, ok := r.heads[name]; ok {
		return seq, true
	}
	s, ok := r.of[name]
	return s.last, ok
}

// many is how many records of one conversation in a commit are enough to put
// them where they stay at once.
func (r *recent) many() int { return max(2, r.maxRows/256) }

// forget is for a transaction that came to nothing.
func (r *recent) forget() {
	r.added, r.left = r.added[:0], r.left[:0]
	clear(r.heads)
}

// commit is for a transaction that is durable.
func (r *recent) commit() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(r.left)
	for _, a := range r.added {
		s := r.of[a.conversation]
		r.of[a.conversation] = span{last: a.seq, keys: append(s.keys, a.key)}
		r.bytes += a.bytes
	}
	r.order = append(r.order, r.added...)
	r.forget()
}

// drop takes whole conversations out. mu is held.
func (r *recent) drop(names []id.Conversation) {
	if len(names) == 0 {
		return
	}
	for _, name := range names {
		delete(r.of, name)
	}
	r.order = slices.DeleteFunc(r.order, func(o row) bool {
		_, stays := r.of[o.conversation]
		if !stays {
			r.bytes -= o.bytes
		}
		return !stays
	})
}

// oldest returns what Upkeep is to move: nothing while the table is within its
// bounds, else so much that a quarter of them is free again, however much the
// last commit brought.
func (r *recent) oldest() []row {
	if len(r.order) <= r.maxRows && r.bytes <= maxRecentBytes {
		return nil
	}
	rows, bytes, n := len(r.order), r.bytes, 0
	for ; rows > r.maxRows*3/4 || bytes > maxRecentBytes*3/4; n++ {
		rows--
		bytes -= r.order[n].bytes
	}
	return r.order[:n]
}

// moved is for the oldest rows, which are in the event table now, durably.
func (r *recent) moved(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.order[:n] {
		r.bytes -= m.bytes
		s := r.of[m.conversation]
		if s.keys = s.keys[1:]; len(s.keys) == 0 {
			delete(r.of, m.conversation)
			continue
		}
		r.of[m.conversation] = s
	}
	r.order = r.order[n:]
}

// load reads what the recent table holds: nothing after a Close, at most what it
// is bounded to otherwise.
func (d *DB) load() error {
	names := map[int64]id.Conversation{}
	err := d.writer.each(func(v []driver.Value) (bool, error) {
		conv := asInt(v[1])
		if _, ok := names[conv]; !ok {
			name, _, err := d.writer.text("SELECT cid FROM conversation WHERE id = ?", conv)
			if err != nil {
				return false, err
			}
			names[conv] = id.Conversation(name)
		}
		d.recent.last = asInt(v[0])
		d.recent.added = append(d.recent.added, row{d.recent.last, names[conv], asInt(v[2]), int(asInt(v[3]))})
		return true, nil
	}, "SELECT id, conv, seq, length(body) FROM recent ORDER BY id")
	d.recent.commit()
	return err
}

// sortIn takes a conversation's rows from the recent table to the event table,
// in the open transaction.
func (d *DB) sortIn(name id.Conversation) error {
	s, ok := d.recent.of[name]
	if !ok {
		return nil
	}
	d.unmoved += 2*len(s.keys) + 4
	d.recent.left = append(d.recent.left, name)
	keys := keyList(s.keys)
	if err := d.writer.exec(insertMoved, keys); err != nil {
		return err
	}
	return d.writer.exec("DELETE FROM recent WHERE id IN (SELECT value FROM json_each(?))", keys)
}

const insertMoved = `INSERT INTO event(conv, seq, at, kind, fact, run, msg, body)
	SELECT conv, seq, at, kind, fact, run, msg, body
	FROM json_each(?) k CROSS JOIN recent r ON r.id = k.value`

// move takes the oldest rows from the recent table to the event table, in one
// transaction. d.mu is held.
func (d *DB) move(rows []row) error {
	if len(rows) == 0 {
		return nil
	}
	// By conversation: neighbours in the event table are put one after the
	// other.
	of := map[id.Conversation][]int64{}
	for _, r := range rows {
		of[r.conversation] = append(of[r.conversation], r.key)
	}
	keys := make([]int64, 0, len(rows))
	for _, k := range of {
		keys = append(keys, k...)
	}
	d.unmoved += len(rows) + 4*len(of)
	err := d.transact(func() error {
		if err := d.writer.exec(insertMoved, keyList(keys)); err != nil {
			return err
		}
		return d.writer.exec("DELETE FROM recent WHERE id <= ?", rows[len(rows)-1].key)
	})
	if err == nil {
		d.recent.moved(len(rows))
	}
	return err
}

// keyList is how a statement takes any number of keys: as a JSON array.
func keyList(keys []int64) string {
	b := make([]byte, 0, 2+8*len(keys))
	b = append(b, '[')
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, k, 10)
	}
	return string(append(b, ']'))
}
