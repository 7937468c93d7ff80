package store

import (
	"context"
	"time"

	"verbatim/internal/id"
)

// AnswerAge is how long an answer is kept.
const AnswerAge = 24 * time.Hour

// Answer is what a request under an idempotency key was answered.
type Answer struct {
	// Hash is that of the request.
	Hash   string
	Status int
	// Type is the content type of Body.
	Type string
	Body []byte
	// Conversation is the one whose text Body may hold, empty for none: an
	// erasure in it takes the answer along.
	Conversation id.Conversation
	At           time.Time
}

// Answer returns what is kept under a key, and false when there is nothing or
// it is older than AnswerAge.
func (d *DB) Answer(ctx context.Context, key string) (a Answer, ok bool, err error) {
	err = d.read(ctx, func(c *conn) error {
		row, err := c.first("SELECT hash, status, type, body, conv, at FROM answer WHERE key = ? AND at > ?", key, d.answersSince())
		if err != nil || row == nil {
			return err
		}
		ok = true
		body, _ := row[3].([]byte)
		a = Answer{
			Hash: asText(row[0]), Status: int(asInt(row[1])), Type: asText(row[2]), Body: body,
			Conversation: id.Conversation(asText(row[4])), At: time.UnixMilli(asInt(row[5])).UTC(),
		}
		return nil
	})
	return a, ok, err
}

// KeepAnswer stores an answer under a key, in the place of one that is there,
// and drops those that are older than AnswerAge. It is durable on return.
func (d *DB) KeepAnswer(ctx context.Context, key string, a Answer) error {
	return d.change(ctx, func() error {
		if err := d.writer.exec("DELETE FROM answer WHERE at <= ?", d.answersSince()); err != nil {
			return err
		}
		d.unmoved += len(a.Body) / pageBytes
		return d.writer.exec("INSERT OR REPLACE INTO answer(key, hash, status, type, body, conv, at) VALUES(?, ?, ?, ?, ?, ?, ?)",
			key, a.Hash, int64(a.Status), a.Type, append([]byte{}, a.Body...), string(a.Conversation), a.At.UnixMilli())
	})
}

func (d *DB) answersSince() int64 { return d.options.Now().Add(-AnswerAge).UnixMilli() }
