package sse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// appendNative appends a record's frame to b. On an error, which only a damaged
// record gives, b comes back as it was.
func appendNative(b []byte, epoch id.Epoch, r event.Record) ([]byte, error) {
	body, err := publicBody(r.Kind, r.Body)
	if err != nil {
		return b, fmt.Errorf("record %d of %s: %w", r.Seq, r.Conversation, err)
	}
	r.Body = body
	b = append(b, "event: "...)
	b = append(b, r.Kind...)
	b = append(b, "\ndata: "...)
	b = r.AppendJSON(b)
	b = append(b, "\nid: "...)
	b = id.Cursor{Epoch: epoch, Seq: r.Seq}.Append(b)
	return append(b, "\n\n"...), nil
}

// providerMember is what a provider needs back and no surface gets.
const providerMember = "provider"

// publicBody returns a payload as surfaces may have it: without what is the
// provider's own, every other byte as it is stored. A body with line breaks
// between its members, which no version of ours writes, is put on one line.
func publicBody(kind event.Kind, body json.RawMessage) (json.RawMessage, error) {
	if bytes.ContainsAny(body, "\r\n") {
		var line bytes.Buffer
		if err := json.Compact(&line, body); err != nil {
			return nil, fmt.Errorf("payload of %s: %w", kind, err)
		}
		body = line.Bytes()
	}
	switch kind {
	case event.SegmentEnd{}.Kind(), event.ToolCall{}.Kind():
		return without(providerMember, body)
	}
	return body, nil
}

// without returns an object without a member. Names count without regard to
// case, as they do when the payload is decoded. body itself is not changed.
func without(name string, body json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("the payload is no object")
	}
	var kept [][]byte
	dropped := false
	for dec.More() {
		from := dec.InputOffset()
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		if said, ok := key.(string); ok && strings.EqualFold(said, name) {
			dropped = true
			continue
		}
		kept = append(kept, bytes.TrimLeft(body[from:dec.InputOffset()], ", \t"))
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if !dropped {
		return body, nil
	}
	out := append(json.RawMessage{'{'}, bytes.Join(kept, []byte{','})...)
	return append(out, '}'), nil
}
