package store

import (
	"context"
	"database/sql/driver"
	"math"
	"strings"

	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/turnlog"
)

const (
	runColumns = `SELECT r.run_id, c.cid, r.msg_id, r.request, r.first_seq, r.last_seq, r.queued_seq, r.dropped_seq
		FROM run r `
	ofConversation = "CROSS JOIN conversation c ON c.id = r.conv "
)

// Run looks up a run that was started or queued; turnlog.ErrNoRun when there
// is none of this id. Message is empty until the first start.
func (d *DB) Run(ctx context.Context, r id.Run) (info turnlog.RunInfo, err error) {
	err = d.read(ctx, func(c *conn) error {
		row, err := c.first(runColumns+ofConversation+
			"WHERE r.run_id = ? AND (r.first_seq IS NOT NULL OR r.queued_seq IS NOT NULL)", string(r))
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
func (d *DB) Unfinished(ctx context.Context) ([]turnlog.RunInfo, error) {
	return d.runs(ctx, runColumns+"INDEXED BY run_unfinished "+ofConversation+
		"WHERE r.first_seq IS NOT NULL AND r.last_seq IS NULL ORDER BY r.id")
}

// Queued returns the runs whose message waits, oldest first.
func (d *DB) Queued(ctx context.Context) ([]turnlog.RunInfo, error) {
	return d.runs(ctx, runColumns+"INDEXED BY run_waiting "+ofConversation+
		"WHERE r.waiting = 1 ORDER BY r.id")
}

func (d *DB) runs(ctx context.Context, query string) (infos []turnlog.RunInfo, err error) {
	err = d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			infos = append(infos, runInfo(row))
			return true, nil
		}, query)
	})
	return infos, err
}

func runInfo(row []driver.Value) turnlog.RunInfo {
	return turnlog.RunInfo{
		Run: id.Run(asText(row[0])), Conversation: id.Conversation(asText(row[1])), Message: id.Message(asText(row[2])),
		Request: asText(row[3]), First: asInt(row[4]), Last: asInt(row[5]), Queued: asInt(row[6]), Dropped: asInt(row[7]),
	}
}

// Approval looks a request for approval up; turnlog.ErrNoApproval when there
// is none. Where a copy of a conversation has it too, it is that of the older
// one.
func (d *DB) Approval(ctx context.Context, a id.Approval) (info turnlog.ApprovalInfo, err error) {
	err = d.read(ctx, func(c *conn) error {
		row, err := c.first(`SELECT a.approval_id, c.cid, r.run_id, a.seq, a.resolved_seq, a.decision
			FROM approval a CROSS JOIN conversation c ON c.id = a.conv CROSS JOIN run r ON r.id = a.run
			WHERE a.approval_id = ? ORDER BY a.conv, a.seq LIMIT 1`, string(a))
		if err != nil {
			return err
		}
		if row == nil {
			return turnlog.ErrNoApproval
		}
		info = turnlog.ApprovalInfo{
			Approval: id.Approval(asText(row[0])), Conversation: id.Conversation(asText(row[1])), Run: id.Run(asText(row[2])),
			Seq: asInt(row[3]), Resolved: asInt(row[4]), Decision: event.Decision(asText(row[5])),
		}
		return nil
	})
	return info, err
}

// Doomed returns what was deleted, is not restored and is not erased yet,
// oldest first.
func (d *DB) Doomed(ctx context.Context) (all []turnlog.Doomed, err error) {
	err = d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			all = append(all, turnlog.Doomed{
				Conversation: id.Conversation(asText(row[0])), Message: id.Message(asText(row[1])),
				Seq: asInt(row[2]), At: asInt(row[3]),
			})
			return true, nil
		}, `SELECT c.cid, d.msg_id, d.seq, d.at FROM doomed d CROSS JOIN conversation c ON c.id = d.conv
			ORDER BY d.at, d.conv, d.seq`)
	})
	return all, err
}

// Conversations returns those that have rows and fit the query, newest first.
func (d *DB) Conversations(ctx context.Context, q turnlog.Query) (infos []turnlog.ConversationInfo, err error) {
	query, args := selectConversations(q)
	err = d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			infos = append(infos, conversationInfo(row))
			return true, nil
		}, query, args...)
	})
	return infos, err
}

// selectConversations is the statement for a query. A project and the archive
// have an index each; what most conversations have, no project and not archived,
// is looked for along the list.
func selectConversations(q turnlog.Query) (query string, args []driver.Value) {
	before := q.Before
	if before == (turnlog.Place{}) {
		before = turnlog.Place{Updated: math.MaxInt64, Key: math.MaxInt64}
	}
	index := "conversation_newest"
	where := []string{"c.rows > 0", "(c.updated, c.id) < (?, ?)"}
	args = []driver.Value{before.Updated, before.Key}
	switch {
	case q.Archived == nil:
	case *q.Archived:
		index = "conversation_archived"
		where = append(where, "c.archived = 1")
	default:
		where = append(where, "c.archived = 0")
	}
	switch {
	case q.Project == nil:
	case *q.Project != "":
		index = "conversation_project"
		where = append(where, "c.project <> ''", "c.project = ?")
		args = append(args, *q.Project)
	default:
		where = append(where, "c.project = ''")
	}
	limit := q.Limit
	if limit < 1 || limit > turnlog.MaxConversations {
		limit = turnlog.MaxConversations
	}
	return `SELECT c.cid, c.title, c.project, c.updated, c.rows, c.id, c.pinned, c.archived, c.model,
		c.news_seq, c.read_seq, c.queued, r.run_id
		FROM conversation c INDEXED BY ` + index + ` LEFT JOIN run r ON r.id = c.running
		WHERE ` + strings.Join(where, " AND ") + ` ORDER BY c.updated DESC, c.id DESC LIMIT ?`, append(args, int64(limit))
}

func conversationInfo(row []driver.Value) turnlog.ConversationInfo {
	return turnlog.ConversationInfo{
		Conversation: id.Conversation(asText(row[0])), Title: asText(row[1]), Project: asText(row[2]),
		Updated: asInt(row[3]), Rows: int(asInt(row[4])), Key: asInt(row[5]),
		Pinned: asInt(row[6]) == 1, Archived: asInt(row[7]) == 1, Model: asText(row[8]),
		News: asInt(row[9]), Read: asInt(row[10]), Queued: int(asInt(row[11])), Running: id.Run(asText(row[12])),
	}
}
