package store

import (
	"context"
	"database/sql/driver"

	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

// Run looks a started run up by its id; turnlog.ErrNoRun when there is none.
func (d *DB) Run(ctx context.Context, r id.Run) (info turnlog.RunInfo, err error) {
	err = d.read(ctx, func(c *conn) error {
		row, err := c.first(`SELECT r.run_id, c.cid, r.msg_id, r.request, r.first_seq, r.last_seq
			FROM run r JOIN conversation c ON c.id = r.conv
			WHERE r.run_id = ? AND r.first_seq IS NOT NULL`, string(r))
		if err != nil {
			return err
		}
		if row == nil {
			return turnlog.ErrNoRun
		}
		info = runInfo(row)
		return nil
	})
	return info, err
}

// Unfinished returns the started runs without a terminal, oldest first.
func (d *DB) Unfinished(ctx context.Context) (infos []turnlog.RunInfo, err error) {
	err = d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			infos = append(infos, runInfo(row))
			return true, nil
		}, `SELECT r.run_id, c.cid, r.msg_id, r.request, r.first_seq, r.last_seq
			FROM run r INDEXED BY run_unfinished CROSS JOIN conversation c ON c.id = r.conv
			WHERE r.first_seq IS NOT NULL AND r.last_seq IS NULL ORDER BY r.id`)
	})
	return infos, err
}

func runInfo(row []driver.Value) turnlog.RunInfo {
	return turnlog.RunInfo{
		Run: id.Run(asText(row[0])), Conversation: id.Conversation(asText(row[1])), Message: id.Message(asText(row[2])),
		Request: asText(row[3]), First: asInt(row[4]), Last: asInt(row[5]),
	}
}

// Conversations returns those that have rows, newest first, at most limit of
// them; a limit below 1 means none.
func (d *DB) Conversations(ctx context.Context, limit int) (infos []turnlog.ConversationInfo, err error) {
	if limit < 1 {
		return nil, nil
	}
	err = d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			infos = append(infos, turnlog.ConversationInfo{
				Conversation: id.Conversation(asText(row[0])), Title: asText(row[1]), Project: asText(row[2]),
				Updated: asInt(row[3]), Rows: int(asInt(row[4])),
			})
			return true, nil
		}, `SELECT cid, title, project, updated, rows FROM conversation INDEXED BY conversation_newest
			WHERE rows > 0 ORDER BY updated DESC, id DESC LIMIT ?`, int64(limit))
	})
	return infos, err
}
