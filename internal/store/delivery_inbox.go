package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface"
)

var _ delivery.InboxStore = (*DB)(nil)

// InboundAge is how long the identity of a received message is kept after it is
// done, at least.
const InboundAge = 30 * 24 * time.Hour

// pruned is how many identities a new message takes away at most.
const pruned = 64

var errInbound = errors.New("no such received message")

const (
	selectInbound = "SELECT delivery, surface, chat, thread, msg, conv, run, state, at, sender, files, text FROM inbound "
	selectKnown   = selectInbound + "INDEXED BY inbound_known WHERE surface = ? AND chat = ? AND msg = ? AND msg <> ''"
	selectWaiting = selectInbound + "INDEXED BY inbound_open WHERE state <> 'done' ORDER BY id"
	pruneInbound  = `DELETE FROM inbound WHERE id IN (SELECT id FROM inbound INDEXED BY inbound_done
		WHERE done IS NOT NULL AND done <= ? ORDER BY done LIMIT ?)`
)

// Received returns a message by its identity, and false for none.
func (d *DB) Received(ctx context.Context, surface, chat, msg string) (m delivery.Inbound, ok bool, err error) {
	err = d.read(ctx, func(c *conn) error {
		row, err := c.first(selectKnown, surface, chat, msg)
		if err != nil || row == nil {
			return err
		}
		ok = true
		m, err = inboundOf(row)
		return err
	})
	return m, ok, err
}

// AddInbound stores a message; delivery.ErrReceived when its identity, or its
// Delivery, is there. It is durable on return. Identities of messages that were
// done more than InboundAge ago go.
func (d *DB) AddInbound(ctx context.Context, m delivery.Inbound) error {
	if m.Delivery == "" {
		return fmt.Errorf("store a received message without a name: %w", errInbound)
	}
	err := d.change(ctx, func() error {
		if err := d.writer.exec(pruneInbound, nanos(d.options.Now().Add(-InboundAge)), int64(pruned)); err != nil {
			return err
		}
		there, err := d.isReceived(m)
		if err != nil {
			return err
		}
		if there {
			return delivery.ErrReceived
		}
		err = d.writer.exec("INSERT INTO inbound(delivery, surface, chat, thread, msg, conv, run, state, sender, text) VALUES(?, ?, ?, ?, ?, '', '', '', '', '')",
			m.Delivery, m.Surface, m.Chat.ID, m.Chat.Thread, m.ID)
		if err != nil {
			return err
		}
		return d.setInbound(m)
	})
	if err != nil {
		return fmt.Errorf("store a message from a chat of %s: %w", m.Surface, fenced(err))
	}
	return nil
}

func (d *DB) isReceived(m delivery.Inbound) (bool, error) {
	_, there, err := d.writer.integer("SELECT 1 FROM inbound WHERE delivery = ?", m.Delivery)
	if err != nil || there {
		return there, err
	}
	row, err := d.writer.first(selectKnown, m.Surface, m.Chat.ID, m.ID)
	return row != nil, err
}

// SetInbound replaces messages by their Delivery, all or none, but for where they
// came from and their ID. It is durable on return. Text and Files of one that is
// done are not kept, nor those of one whose run is erased.
func (d *DB) SetInbound(ctx context.Context, all ...delivery.Inbound) error {
	err := d.change(ctx, func() error {
		for _, m := range all {
			if err := d.setInbound(m); err != nil {
				return fmt.Errorf("message %s: %w", m.Delivery, err)
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store what became of received messages: %w", fenced(err))
	}
	return nil
}

func (d *DB) setInbound(m delivery.Inbound) error {
	key, ok, err := d.writer.integer("SELECT id FROM inbound WHERE delivery = ?", m.Delivery)
	if err != nil {
		return err
	}
	if !ok {
		return errInbound
	}
	gone := false
	if m.Run != "" {
		if gone, err = d.gone(m.Conversation, m.Run, 0); err != nil {
			return err
		}
	}
	var done driver.Value
	if m.State == delivery.InboundDone {
		done = nanos(d.options.Now())
	}
	if gone || done != nil {
		m.Text, m.Files = "", nil
	}
	if gone {
		m.Sender = surface.Person{}
	}
	sender, err := json.Marshal(m.Sender)
	if err != nil {
		return err
	}
	files, err := encodeFiles(m.Files)
	if err != nil {
		return err
	}
	d.unmoved += len(m.Text) / pageBytes
	return d.writer.exec(`UPDATE inbound SET conv = ?, run = ?, state = ?, at = ?, sender = ?,
		done = CASE WHEN ?6 IS NULL THEN NULL ELSE coalesce(done, ?6) END, files = ?7, text = ?8 WHERE id = ?9`,
		string(m.Conversation), string(m.Run), string(m.State), nanos(m.At), string(sender), done, files, []byte(m.Text), key)
}

func encodeFiles(files []event.Attachment) (driver.Value, error) {
	if len(files) == 0 {
		return nil, nil
	}
	encoded, err := json.Marshal(files)
	return string(encoded), err
}

// OpenInbound returns the messages that are not done, in the order in which they
// were received.
func (d *DB) OpenInbound(ctx context.Context) (all []delivery.Inbound, err error) {
	err = d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			m, err := inboundOf(row)
			all = append(all, m)
			return err == nil, err
		}, selectWaiting)
	})
	return all, err
}

func inboundOf(row []driver.Value) (delivery.Inbound, error) {
	m := delivery.Inbound{
		Delivery: asText(row[0]), Address: addressOf(row[1:]), ID: asText(row[4]), Conversation: id.Conversation(asText(row[5])),
		Run: id.Run(asText(row[6])), State: delivery.InboundState(asText(row[7])), At: asTime(row[8]), Text: string(asBytes(row[11])),
	}
	if err := json.Unmarshal([]byte(asText(row[9])), &m.Sender); err != nil {
		return m, fmt.Errorf("%w: the sender of message %s: %w", ErrCorrupt, m.Delivery, err)
	}
	if row[10] == nil {
		return m, nil
	}
	if err := json.Unmarshal([]byte(asText(row[10])), &m.Files); err != nil {
		return m, fmt.Errorf("%w: the files of message %s: %w", ErrCorrupt, m.Delivery, err)
	}
	return m, nil
}

// Mark returns what SetMark has stored for a surface under a name, empty for
// nothing.
func (d *DB) Mark(ctx context.Context, surface, name string) (value string, err error) {
	err = d.read(ctx, func(c *conn) error {
		value, _, err = c.text("SELECT value FROM mark WHERE surface = ? AND name = ?", surface, name)
		return err
	})
	return value, err
}

// SetMark stores a surface's own note under a name. It is durable on return.
func (d *DB) SetMark(ctx context.Context, surface, name, value string) error {
	err := d.change(ctx, func() error {
		return d.writer.exec("INSERT OR REPLACE INTO mark(surface, name, value) VALUES(?, ?, ?)", surface, name, value)
	})
	if err != nil {
		return fmt.Errorf("store how far %s has read: %w", surface, fenced(err))
	}
	return nil
}
