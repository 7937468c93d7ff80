package store

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"verbatim/internal/approval"
	"verbatim/internal/id"
)

// Rules returns the rules by which calls run without a question, oldest first.
func (d *DB) Rules(ctx context.Context) (rules []approval.Rule, err error) {
	err = d.read(ctx, func(c *conn) error {
		return c.each(func(row []driver.Value) (bool, error) {
			r := approval.Rule{
				ID: asText(row[0]), Tool: asText(row[1]), Exact: asInt(row[3]) == 1,
				Created: time.UnixMilli(asInt(row[4])).UTC(), By: asText(row[5]), Approval: id.Approval(asText(row[6])),
			}
			if err := json.Unmarshal([]byte(asText(row[2])), &r.Words); err != nil {
				return false, fmt.Errorf("%w: the words of rule %s: %w", ErrCorrupt, r.ID, err)
			}
			if len(r.Words) == 0 {
				r.Words = nil
			}
			rules = append(rules, r)
			return true, nil
		}, "SELECT id, tool, words, exact, created, by, approval_id FROM rule ORDER BY created, rowid")
	})
	return rules, err
}

// AddRule stores a rule, durably on return. One that says the same as an older
// one is that one: nothing changes.
func (d *DB) AddRule(ctx context.Context, r approval.Rule) error {
	words, err := json.Marshal(append([]string{}, r.Words...))
	if err != nil {
		return err
	}
	return d.change(ctx, func() error {
		return d.writer.exec(`INSERT INTO rule(id, tool, words, exact, created, by, approval_id) VALUES(?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT(tool, words, exact) DO NOTHING`,
			r.ID, r.Tool, string(words), asFlag(r.Exact), r.Created.UnixMilli(), r.By, string(r.Approval))
	})
}

// RemoveRule removes a rule, durably on return; approval.ErrNoRule when there
// is none of this id.
func (d *DB) RemoveRule(ctx context.Context, rule string) error {
	return d.change(ctx, func() error {
		_, found, err := d.writer.integer("SELECT 1 FROM rule WHERE id = ?", rule)
		if err != nil {
			return err
		}
		if !found {
			return approval.ErrNoRule
		}
		return d.writer.exec("DELETE FROM rule WHERE id = ?", rule)
	})
}
