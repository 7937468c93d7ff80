package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"verbatim/internal/delivery"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

var _ delivery.Store = (*DB)(nil)

// What a change can be refused for, besides delivery's and turnlog's errors.
var (
	errBinding = errors.New("the chat has no such binding")
	errPost    = errors.New("a placement without the id of its post, or with that of another chat's")
)

const (
	selectLane    = "SELECT id FROM lane WHERE surface = ? AND chat = ? AND thread = ?"
	selectBound   = "SELECT " + bindingColumns + " FROM binding b INDEXED BY binding_open CROSS JOIN lane l ON l.id = b.lane WHERE b.lane = ? AND b.closed = 0"
	selectMyLane  = "SELECT lane, conv FROM binding WHERE id = ?"
	selectStored  = "SELECT id, lane, platform_id FROM placement WHERE post = ?"
	insertLane    = "INSERT INTO lane(surface, chat, thread) VALUES(?, ?, ?)"
	insertBinding = "INSERT INTO binding(lane, conv, from_seq, done) VALUES(?1, ?2, ?3, ?3)"
)

// Addresses returns the chats that have a binding or a post that is not settled.
func (d *DB) Addresses(ctx context.Context) (all []delivery.Address, err error) {
	err = d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			all = append(all, addressOf(row))
			return true, nil
		}, `SELECT surface, chat, thread FROM lane WHERE EXISTS (SELECT 1 FROM binding INDEXED BY binding_open WHERE lane = lane.id AND closed = 0)
			OR EXISTS (SELECT 1 FROM placement INDEXED BY placement_open WHERE lane = lane.id AND open = 1)`)
	})
	return all, err
}

// Bound returns the binding that a chat shows now, and false for none.
func (d *DB) Bound(ctx context.Context, a delivery.Address) (b delivery.Binding, ok bool, err error) {
	err = d.read(ctx, func(c *conn) error {
		key, known, err := c.lane(a)
		if err != nil || !known {
			return err
		}
		b, ok, err = c.bound(key)
		return err
	})
	return b, ok, err
}

// Bind shows a conversation in a chat; see delivery.Store. It is durable on
// return.
func (d *DB) Bind(ctx context.Context, a delivery.Address, c id.Conversation) (delivery.Binding, error) {
	// Each message of a person asks, and hardly any changes something.
	b, ok, err := d.Bound(ctx, a)
	if err != nil || ok && b.Conversation == c {
		return b, err
	}
	err = d.change(ctx, func() (err error) {
		b, err = d.bind(a, c)
		return err
	})
	if err != nil {
		return delivery.Binding{}, fmt.Errorf("show conversation %s in a chat of %s: %w", c, a.Surface, fenced(err))
	}
	return b, nil
}

func (d *DB) bind(a delivery.Address, c id.Conversation) (b delivery.Binding, err error) {
	lane, err := d.lane(a)
	if err != nil {
		return b, err
	}
	old, ok, err := d.writer.bound(lane)
	if err != nil || ok && old.Conversation == c {
		return old, err
	}
	if ok {
		head, err := d.headNow(old.Conversation)
		if err != nil {
			return b, err
		}
		if err := d.writer.exec("UPDATE binding SET closed = 1, until = ? WHERE id = ?", head, old.ID); err != nil {
			return b, err
		}
	}
	head, err := d.headNow(c)
	if err != nil {
		return b, err
	}
	if err := d.writer.exec(insertBinding, lane, string(c), head); err != nil {
		return b, err
	}
	b, _, err = d.writer.bound(lane)
	return b, err
}

// lane finds a chat in the open transaction, or makes it.
func (d *DB) lane(a delivery.Address) (key int64, err error) {
	key, ok, err := d.writer.lane(a)
	if err != nil || ok {
		return key, err
	}
	if err := d.writer.exec(insertLane, a.Surface, a.Chat.ID, a.Chat.Thread); err != nil {
		return 0, err
	}
	key, _, err = d.writer.lane(a)
	return key, err
}

func (c *conn) lane(a delivery.Address) (key int64, ok bool, err error) {
	return c.integer(selectLane, a.Surface, a.Chat.ID, a.Chat.Thread)
}

func (c *conn) bound(lane int64) (b delivery.Binding, ok bool, err error) {
	row, err := c.first(selectBound, lane)
	if err != nil || row == nil {
		return b, false, err
	}
	return bindingOf(row), true, nil
}

// headNow returns the seq of a conversation's last record as the open transaction
// sees it, 0 for one that is not there.
func (d *DB) headNow(name id.Conversation) (int64, error) {
	if c := d.known.conversations[name]; c != nil {
		return c.head, nil
	}
	key, ok, err := d.writer.integer(selectConversation, string(name))
	if err != nil || !ok {
		return 0, err
	}
	return d.headOf(name, key)
}

// fenced gives the error of a process that was replaced the name that lanes know
// it by, too.
func fenced(err error) error {
	if errors.Is(err, turnlog.ErrFenced) {
		return fmt.Errorf("%w: %w", delivery.ErrFenced, err)
	}
	return err
}
