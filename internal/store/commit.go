package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"verbatim/internal/event"
	"verbatim/internal/turnlog"
)

// What a group can be refused for, besides turnlog's errors.
var (
	errSeq     = errors.New("the seqs do not follow the conversation's last")
	errRunUsed = turnlog.ErrRunUsed
	errRunOver = errors.New("the run is over; nothing of it can follow")
)

// Commit writes groups in one transaction; when that fails, each by itself, so
// that a bad one takes none with it. See turnlog.Store.
func (d *DB) Commit(ctx context.Context, groups []turnlog.Group) []error {
	errs := make([]error, len(groups))
	if len(groups) == 0 {
		return errs
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.transact(func() error { return d.putAll(groups) })
	if err == nil {
		return errs
	}
	for i := range groups {
		if len(groups) > 1 && !errors.Is(err, turnlog.ErrFenced) && !errors.Is(err, turnlog.ErrClosed) {
			errs[i] = d.transact(func() error { return d.put(groups[i]) })
			continue
		}
		errs[i] = err
	}
	return errs
}

// transact runs f in a durable transaction if this opening is still the last.
// On an error nothing of it was written. d.mu is held.
func (d *DB) transact(f func() error) error {
	if d.writer == nil {
		return turnlog.ErrClosed
	}
	if err := d.writer.exec("BEGIN IMMEDIATE"); err != nil {
		return explain(err)
	}
	err := d.fence()
	if err == nil {
		err = f()
	}
	if err == nil {
		err = d.writer.exec("COMMIT")
	}
	if err == nil {
		d.recent.commit()
		return nil
	}
	// What was learned in the transaction may not be so. SQLite has rolled
	// back by itself after some errors, and then says so here.
	d.known.reset()
	d.recent.forget()
	_ = d.writer.exec("ROLLBACK")
	return explain(err)
}

func (d *DB) fence() error {
	start, _, err := d.writer.integer("SELECT value FROM meta WHERE key = 'start'")
	if err == nil && start != d.start {
		return turnlog.ErrFenced
	}
	return err
}

func (d *DB) putAll(groups []turnlog.Group) error {
	for _, g := range groups {
		if err := d.put(g); err != nil {
			return err
		}
	}
	return nil
}

func (d *DB) put(g turnlog.Group) error {
	c, err := d.conversation(g.Conversation)
	if err != nil {
		return err
	}
	// Many records of one conversation lie together as they are: they go
	// where they stay at once, behind those that came before.
	sorted := len(g.Records) >= d.recent.many()
	if sorted {
		if err := d.sortIn(g.Conversation); err != nil {
			return err
		}
	}
	for _, r := range g.Records {
		if r.Seq != c.head+1 {
			return fmt.Errorf("record %s-%d after %d: %w", g.Conversation, r.Seq, c.head, errSeq)
		}
		if err := d.putRecord(c, r, sorted); err != nil {
			return fmt.Errorf("record %s-%d: %w", g.Conversation, r.Seq, err)
		}
		c.head = r.Seq
		// A record is a row behind the last, and overflow pages when it is
		// long; a structural one may touch a page of each index.
		d.unmoved += 1 + len(r.Body)/pageBytes
		if spec, _ := event.Lookup(r.Kind); spec.Structural {
			d.unmoved += 8
		}
	}
	d.unmoved += 4
	return nil
}

const (
	insertRecent = `INSERT INTO recent(conv, seq, at, kind, fact, run, msg, body, id) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)`
	insertSorted = `INSERT INTO event(conv, seq, at, kind, fact, run, msg, body) VALUES(?, ?, ?, ?, ?, ?, ?, ?)`
)

func (d *DB) putRecord(c *conversation, r event.Record, sorted bool) error {
	isFact, err := structural(r)
	if err != nil {
		return err
	}
	var run *run
	var runKey, msg, fact driver.Value
	if r.Run != "" {
		if run, err = d.run(c, r); err != nil {
			return err
		}
		runKey = run.key
		if r.Message != run.message {
			msg = string(r.Message)
		}
	} else if r.Message != "" {
		msg = string(r.Message)
	}
	if isFact {
		fact = int64(1)
	}
	query := insertSorted
	args := []driver.Value{c.key, r.Seq, r.At.UnixMilli(), string(r.Kind), fact, runKey, msg, []byte(r.Body)}
	if !sorted {
		query = insertRecent
		args = append(args, d.recent.add(r))
	}
	if err := d.writer.exec(query, args...); err != nil || !isFact {
		return err
	}
	return d.putFact(c, run, r)
}

// putFact takes a structural record into the derived tables and the index of
// words.
func (d *DB) putFact(c *conversation, run *run, r event.Record) error {
	e, err := r.Event()
	if err != nil {
		return err
	}
	if err := d.project(c, run, r, e); err != nil {
		return err
	}
	if d.ballast.lost() {
		return d.postponeText(c, r, e)
	}
	return d.indexText(c, run, r, e)
}

// structural reports whether a record is one of those that Facts returns. A
// tombstone is if its record was, so that erasing changes nothing about which
// records are read.
func structural(r event.Record) (bool, error) {
	kind := r.Kind
	if kind == (event.Erased{}).Kind() {
		e, err := r.Event()
		if err != nil {
			return false, err
		}
		kind = e.(event.Erased).Was
	}
	spec, _ := event.Lookup(kind)
	return spec.Structural, nil
}

// indexText makes the words of a record findable.
func (d *DB) indexText(c *conversation, run *run, r event.Record, e event.Event) error {
	switch e := e.(type) {
	case event.UserMessage:
		return d.indexQuestion(c, r, e)
	case event.ToolResult:
		return d.indexOutput(c, run, r, e)
	case event.Cancelled, event.Error, event.End:
		if run != nil {
			return d.indexAnswer(c, run, r)
		}
	}
	return nil
}
