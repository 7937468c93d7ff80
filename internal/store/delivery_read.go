package store

import (
	"context"
	"database/sql/driver"
	"errors"
	"math"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/id"
)

// Of a run that is shown nothing is left to be found out.
const stillOpen = `open = 1 AND NOT (state = 'unknown' AND edit_to = 0 AND again = 0
	AND EXISTS (SELECT 1 FROM run_shown s WHERE s.run = placement.run AND s.binding = placement.binding))`

const (
	selectOpen = "SELECT DISTINCT binding FROM placement INDEXED BY placement_open WHERE lane = ?1 AND " + stillOpen

	selectLeftIDs = "SELECT id FROM binding INDEXED BY binding_left WHERE lane = ?1 AND (closed = 0 OR done < until) UNION " + selectOpen

	selectLeft = "SELECT " + bindingColumns + " FROM binding b CROSS JOIN lane l ON l.id = b.lane WHERE b.id IN (" + selectLeftIDs + ") ORDER BY b.id"

	selectLanePlacements = selectPlacements + `WHERE id IN (
		SELECT p.id FROM binding b CROSS JOIN placement p INDEXED BY placement_seq ON p.binding = b.id AND p.seq > b.done
			WHERE b.id IN (` + selectLeftIDs + `)
		UNION SELECT id FROM placement INDEXED BY placement_open WHERE lane = ?1 AND ` + stillOpen + `) ORDER BY id`

	selectUnsure = selectPlacements + `INDEXED BY placement_unsure
		WHERE lane = ?1 AND state IN ('unknown', 'refused') AND body IS NOT NULL AND run <> ''
		AND run = (SELECT run FROM placement INDEXED BY placement_unsure
			WHERE lane = ?1 AND state IN ('unknown', 'refused') AND body IS NOT NULL AND run <> '' ORDER BY id DESC LIMIT 1)
		ORDER BY id`

	// A binding is meant for a run that began while it was open, and has what
	// it has shown of any.
	selectMeant = "SELECT " + bindingColumns + `, s.run, s.reasoning, s.tools, s.commentary
		FROM binding b CROSS JOIN lane l ON l.id = b.lane LEFT JOIN run_shown s ON s.run = ?1 AND s.binding = b.id
		WHERE b.id IN (SELECT id FROM binding WHERE conv = ?2 AND from_seq < ?3 AND (closed = 0 OR until >= ?3)
			UNION SELECT binding FROM placement INDEXED BY placement_run WHERE run = ?1 AND run <> '' AND binding <> 0
			UNION SELECT binding FROM run_shown WHERE run = ?1) ORDER BY b.id`

	selectOfRun = selectPlacements + "INDEXED BY placement_run WHERE run = ? AND run <> '' ORDER BY binding, id"
)

// Lane returns what is stored of a chat; see delivery.Store. Placements are in
// the order in which they were first stored.
func (d *DB) Lane(ctx context.Context, a delivery.Address) (saved delivery.Saved, err error) {
	err = d.snapshot(ctx, func(c *conn) error {
		row, err := c.first("SELECT id, not_before, interval, quiet, last_id FROM lane WHERE surface = ? AND chat = ? AND thread = ?",
			a.Surface, a.Chat.ID, a.Chat.Thread)
		if err != nil || row == nil {
			return err
		}
		saved.Pace = paceOf(row[1:])
		saved.LastID = asText(row[4])
		err = c.each(func(row []driver.Value) (bool, error) {
			saved.Bindings = append(saved.Bindings, bindingOf(row))
			return true, nil
		}, selectLeft, row[0])
		if err != nil {
			return err
		}
		saved.Place, err = c.placements(selectLanePlacements, row[0])
		return err
	})
	if err != nil {
		return delivery.Saved{}, err
	}
	return saved, nil
}

// Unsure returns what may be missing of the newest run in a chat of which
// anything may be; see delivery.Store.
func (d *DB) Unsure(ctx context.Context, a delivery.Address) (all []delivery.Placement, err error) {
	err = d.read(ctx, func(c *conn) error {
		key, ok, err := c.lane(a)
		if err != nil || !ok {
			return err
		}
		all, err = c.placements(selectUnsure, key)
		return err
	})
	return all, err
}

// Receipts returns what is stored of a run, by binding; see delivery.Store. A run
// that is not known has none.
func (d *DB) Receipts(ctx context.Context, run id.Run) (all []delivery.Receipt, err error) {
	err = d.snapshot(ctx, func(c *conn) error {
		conv, first, err := c.began(run)
		if err != nil {
			return err
		}
		at := map[int64]int{}
		err = c.each(func(row []driver.Value) (bool, error) {
			r := delivery.Receipt{Binding: bindingOf(row), Finished: row[9] != nil}
			r.Withheld = delivery.Withheld{Reasoning: int(asInt(row[10])), Tools: int(asInt(row[11])), Commentary: int(asInt(row[12]))}
			at[r.Binding.ID] = len(all)
			all = append(all, r)
			return true, nil
		}, selectMeant, string(run), string(conv), first)
		if err != nil {
			return err
		}
		places, err := c.placements(selectOfRun, string(run))
		for _, p := range places {
			if i, ok := at[p.Binding]; ok {
				all[i].Place = append(all[i].Place, p)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// began returns the conversation of a run and the seq at which it began, which is
// beyond all others for one that waits. A run that is not known, or was dropped,
// has no conversation.
func (c *conn) began(run id.Run) (conv id.Conversation, first int64, err error) {
	row, err := c.first(`SELECT c.cid, r.first_seq FROM run r CROSS JOIN conversation c ON c.id = r.conv
		WHERE r.run_id = ? AND (r.first_seq IS NOT NULL OR r.queued_seq IS NOT NULL) AND r.dropped_seq IS NULL`, string(run))
	if err != nil || row == nil {
		return "", 0, err
	}
	if row[1] == nil {
		return id.Conversation(asText(row[0])), math.MaxInt64, nil
	}
	return id.Conversation(asText(row[0])), asInt(row[1]), nil
}

func (c *conn) placements(query string, args ...driver.Value) (all []delivery.Placement, err error) {
	err = c.each(func(row []driver.Value) (bool, error) {
		p, err := placementOf(row)
		all = append(all, p)
		return err == nil, err
	}, query, args...)
	return all, err
}

func paceOf(row []driver.Value) delivery.Pace {
	return delivery.Pace{NotBefore: asTime(row[0]), Interval: time.Duration(asInt(row[1])), Quiet: asTime(row[2])}
}

// snapshot is read for several statements that must see the same state.
func (d *DB) snapshot(ctx context.Context, f func(*conn) error) error {
	return d.read(ctx, func(c *conn) error {
		if err := c.exec("BEGIN"); err != nil {
			return err
		}
		return errors.Join(f(c), c.exec("COMMIT"))
	})
}
