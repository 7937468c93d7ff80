package store

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/id"
	"verbatim/internal/surface"
)

const bindingColumns = "b.id, l.surface, l.chat, l.thread, b.conv, b.from_seq, b.done, b.closed, b.until"

func bindingOf(row []driver.Value) delivery.Binding {
	return delivery.Binding{
		ID: asInt(row[0]), Address: addressOf(row[1:]), Conversation: id.Conversation(asText(row[4])),
		From: asInt(row[5]), Done: asInt(row[6]), Closed: asInt(row[7]) == 1, Until: asInt(row[8]),
	}
}

func addressOf(row []driver.Value) delivery.Address {
	return delivery.Address{Surface: asText(row[0]), Chat: surface.Chat{ID: asText(row[1]), Thread: asText(row[2])}}
}

// The columns of a placement: those that stay as they were first stored, then
// those that change.
const (
	placementNames  = "post, binding, run, item, segment"
	placementValues = `part, seq, from_byte, to_byte, state, platform_id, edit_to, shown, attempts, start,
		at, first, not_before, wait, plain, sealed, again, error, body, text`
	selectPlacements = "SELECT " + placementNames + ", " + placementValues + " FROM placement "
	insertPlacement  = "INSERT INTO placement(" + placementValues + ", files, open, " + placementNames + `, lane)
		VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updatePlacement = `UPDATE placement SET part = ?, seq = ?, from_byte = ?, to_byte = ?, state = ?, platform_id = ?, edit_to = ?,
		shown = ?, attempts = ?, start = ?, at = ?, first = ?, not_before = ?, wait = ?, plain = ?, sealed = ?, again = ?,
		error = ?, body = ?, text = ?, files = ?, open = ? WHERE id = ?`
)

// valuesOf returns what changes of a placement.
func valuesOf(p delivery.Placement) ([]driver.Value, error) {
	body, text, files, err := encodeBody(p.Body)
	if err != nil {
		return nil, fmt.Errorf("the body of post %s: %w", p.Post, err)
	}
	return []driver.Value{
		int64(p.Part), p.Seq, p.From, p.To, string(p.State), p.PlatformID, p.EditTo, p.Shown, int64(p.Attempts), p.Start,
		nanos(p.At), nanos(p.First), nanos(p.NotBefore), int64(p.Wait), asFlag(p.Plain), asFlag(p.Sealed), asFlag(p.Again),
		p.Error, body, text, files, asFlag(unsettled(p)),
	}, nil
}

// unsettled reports whether something may be left to do about a placement,
// however far its binding is settled.
func unsettled(p delivery.Placement) bool {
	switch p.State {
	case delivery.Planned, delivery.InFlight:
		return true
	case delivery.Unknown:
		return p.Body != nil || p.EditTo != 0 || p.Again
	default:
		return p.EditTo != 0 || p.Again
	}
}

func placementOf(row []driver.Value) (delivery.Placement, error) {
	p := delivery.Placement{
		Post: asText(row[0]), Binding: asInt(row[1]), Run: id.Run(asText(row[2])), Item: asText(row[3]),
		Segment: id.Segment(asText(row[4])), Part: int(asInt(row[5])), Seq: asInt(row[6]), From: asInt(row[7]), To: asInt(row[8]),
		State: delivery.State(asText(row[9])), PlatformID: asText(row[10]), EditTo: asInt(row[11]), Shown: asText(row[12]),
		Attempts: int(asInt(row[13])), Start: asInt(row[14]), At: asTime(row[15]), First: asTime(row[16]),
		NotBefore: asTime(row[17]), Wait: time.Duration(asInt(row[18])), Plain: asInt(row[19]) == 1,
		Sealed: asInt(row[20]) == 1, Again: asInt(row[21]) == 1, Error: asText(row[22]),
	}
	if row[23] == nil {
		return p, nil
	}
	p.Body = &surface.Post{}
	if err := json.Unmarshal([]byte(asText(row[23])), p.Body); err != nil {
		return p, fmt.Errorf("%w: the body of post %s: %w", ErrCorrupt, p.Post, err)
	}
	p.Body.Text = string(asBytes(row[24]))
	return p, nil
}

// encodeBody returns a body as three columns, all null for none. The text is kept
// byte for byte: exactly it is sent again.
func encodeBody(p *surface.Post) (body, text, files driver.Value, err error) {
	if p == nil {
		return nil, nil, nil, nil
	}
	rest := *p
	rest.Text = ""
	encoded, err := json.Marshal(rest)
	if err != nil {
		return nil, nil, nil, err
	}
	var blobs []string
	for _, f := range p.Files {
		if f.Blob != "" {
			blobs = append(blobs, f.Blob)
		}
	}
	if len(blobs) > 0 {
		names, err := json.Marshal(blobs)
		if err != nil {
			return nil, nil, nil, err
		}
		files = string(names)
	}
	return string(encoded), []byte(p.Text), files, nil
}

// nanos is a time to bind, null for none.
func nanos(t time.Time) driver.Value {
	if t.IsZero() {
		return nil
	}
	return t.UnixNano()
}

func asTime(v driver.Value) time.Time {
	n, ok := v.(int64)
	if !ok {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
