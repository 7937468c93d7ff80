package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"verbatim/internal/delivery"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// saves are changes that wait while a transaction is under way: whoever comes
// next stores them all in one.
type saves struct {
	mu      sync.Mutex
	waiting []*save
}

// save is a change of one lane. DB.mu guards done and err.
type save struct {
	change delivery.Change
	done   bool
	err    error
}

func (s *saves) add(c delivery.Change) *save {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := &save{change: c}
	s.waiting = append(s.waiting, one)
	return one
}

func (s *saves) take() []*save {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting
	s.waiting = nil
	return all
}

// Save stores a change of a lane; see delivery.Store. Changes that are saved at
// the same time share a transaction, and one that can't be stored takes none with
// it. ctx is looked at before it begins.
//
// Errors: delivery.ErrFenced, turnlog.ErrFull, turnlog.ErrClosed; another one for
// a change that names a binding of another chat, or a post without an id. On an
// error nothing of the change was stored.
func (d *DB) Save(ctx context.Context, c delivery.Change) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s := d.saves.add(c)
	d.mu.Lock()
	defer d.mu.Unlock()
	if !s.done {
		d.saveAll(d.saves.take())
	}
	return s.err
}

// saveAll stores changes in one transaction; when that fails, each by itself.
// d.mu is held.
func (d *DB) saveAll(all []*save) {
	err := d.transact(func() error {
		for _, s := range all {
			if err := d.save(s.change); err != nil {
				return err
			}
		}
		return nil
	})
	alone := err != nil && len(all) > 1 && !errors.Is(err, turnlog.ErrFenced) && !errors.Is(err, turnlog.ErrClosed)
	for _, s := range all {
		s.done, s.err = true, err
		if alone {
			s.err = d.transact(func() error { return d.save(s.change) })
		}
		if s.err != nil {
			s.err = fmt.Errorf("store what a chat of %s was sent: %w", s.change.Surface, fenced(s.err))
		}
	}
}

// Add stores the placements of a change that are not there yet, and the rest of
// it; see delivery.Store. It is durable on return. Errors are those of Save.
func (d *DB) Add(ctx context.Context, c delivery.Change) (added []delivery.Placement, err error) {
	err = d.change(ctx, func() error {
		added = nil
		fresh := c
		fresh.Place = nil
		for _, p := range c.Place {
			_, there, err := d.writer.integer("SELECT 1 FROM placement WHERE post = ?", p.Post)
			if err != nil {
				return err
			}
			if there {
				continue
			}
			if p.Binding == 0 {
				p.Binding = c.Binding
			}
			fresh.Place = append(fresh.Place, p)
		}
		added = fresh.Place
		return d.save(fresh)
	})
	if err != nil {
		return nil, fmt.Errorf("store what a chat of %s is to be sent: %w", c.Surface, fenced(err))
	}
	return added, nil
}

// save stores a change in the open transaction.
func (d *DB) save(c delivery.Change) error {
	d.unmoved += 4
	lane, err := d.lane(c.Address)
	if err != nil {
		return err
	}
	if err := d.saveBinding(lane, c); err != nil {
		return err
	}
	lastID := ""
	for _, p := range c.Place {
		if p.Binding == 0 {
			p.Binding = c.Binding
		}
		known, err := d.place(lane, p)
		if err != nil {
			return fmt.Errorf("post %q: %w", p.Post, err)
		}
		if known != "" {
			lastID = known
		}
	}
	if lastID != "" {
		if err := d.writer.exec("UPDATE lane SET last_id = ? WHERE id = ?", lastID, lane); err != nil {
			return err
		}
	}
	if c.Pace == nil {
		return nil
	}
	return d.writer.exec("UPDATE lane SET not_before = ?, interval = ?, quiet = ? WHERE id = ?",
		nanos(c.Pace.NotBefore), int64(c.Pace.Interval), nanos(c.Pace.Quiet), lane)
}

// saveBinding notes how far a binding is settled, and which runs it has shown.
func (d *DB) saveBinding(lane int64, c delivery.Change) error {
	if c.Binding == 0 {
		if c.Done != 0 || len(c.Runs) > 0 {
			return errBinding
		}
		return nil
	}
	if _, err := d.conversationOf(lane, c.Binding); err != nil {
		return err
	}
	if c.Done != 0 {
		if err := d.writer.exec("UPDATE binding SET done = max(done, ?) WHERE id = ?", c.Done, c.Binding); err != nil {
			return err
		}
	}
	for _, r := range c.Runs {
		d.unmoved++
		err := d.writer.exec("INSERT OR REPLACE INTO run_shown(run, binding, reasoning, tools, commentary) VALUES(?, ?, ?, ?, ?)",
			string(r.Run), c.Binding, int64(r.Withheld.Reasoning), int64(r.Withheld.Tools), int64(r.Withheld.Commentary))
		if err != nil {
			return err
		}
	}
	return nil
}

// conversationOf returns the conversation of a binding, which must be the
// chat's.
func (d *DB) conversationOf(lane, binding int64) (id.Conversation, error) {
	row, err := d.writer.first(selectMyLane, binding)
	if err != nil {
		return "", err
	}
	if row == nil || asInt(row[0]) != lane {
		return "", fmt.Errorf("binding %d: %w", binding, errBinding)
	}
	return id.Conversation(asText(row[1])), nil
}

// place stores a placement and returns its platform id if that became known only
// now.
func (d *DB) place(lane int64, p delivery.Placement) (platformID string, err error) {
	c := id.Conversation("")
	if p.Binding != 0 {
		if c, err = d.conversationOf(lane, p.Binding); err != nil {
			return "", err
		}
	}
	old, err := d.stored(lane, p.Post)
	if err != nil {
		return "", err
	}
	if err := d.putPlacement(lane, old.key, c, p); err != nil {
		return "", err
	}
	if p.PlatformID == old.platformID {
		return "", nil
	}
	return p.PlatformID, nil
}

// stored is what must be known of a placement to change it; key is 0 for one that
// is not there.
type stored struct {
	key        int64
	platformID string
}

func (d *DB) stored(lane int64, post string) (s stored, err error) {
	row, err := d.writer.first(selectStored, post)
	if err != nil {
		return s, err
	}
	if post == "" || row != nil && asInt(row[1]) != lane {
		return s, errPost
	}
	if row != nil {
		s = stored{key: asInt(row[0]), platformID: asText(row[2])}
	}
	return s, nil
}

// putPlacement writes the row of a placement. Of what is erased it keeps no text:
// whoever was at work on it meanwhile may still have it.
func (d *DB) putPlacement(lane, key int64, c id.Conversation, p delivery.Placement) error {
	gone, err := d.gone(c, p.Run, p.Seq)
	if err != nil {
		return err
	}
	if gone {
		p.Body, p.Shown, p.Error = nil, "", ""
	}
	values, err := valuesOf(p)
	if err != nil {
		return err
	}
	d.unmoved += 8
	if p.Body != nil {
		d.unmoved += len(p.Body.Text) / pageBytes
	}
	if key != 0 {
		return d.writer.exec(updatePlacement, append(values, key)...)
	}
	return d.writer.exec(insertPlacement, append(values, p.Post, p.Binding, string(p.Run), p.Item, string(p.Segment), lane)...)
}

// gone reports whether a run is erased or, of what belongs to none, the record.
func (d *DB) gone(c id.Conversation, r id.Run, seq int64) (bool, error) {
	const isTombstone = "SELECT 1 FROM event WHERE conv = ? AND seq = ? AND kind = 'erased'"
	if r == "" {
		if c == "" || seq == 0 {
			return false, nil
		}
		_, gone, err := d.writer.integer("SELECT 1 FROM event WHERE conv = (SELECT id FROM conversation WHERE cid = ?) AND seq = ? AND kind = 'erased'",
			string(c), seq)
		return gone, err
	}
	run, err := d.findRun(r)
	if err != nil || run == nil {
		return false, err
	}
	begun := run.first
	if begun == 0 {
		begun = run.queued
	}
	_, gone, err := d.writer.integer(isTombstone, run.conv, begun)
	return gone, err
}
