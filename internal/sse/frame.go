package sse

import (
	"bytes"
	"encoding/json"
	"strconv"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// open begins a frame; the members of its payload follow, then closeFrame.
func open(b []byte, name string, message id.Message) []byte {
	b = append(b, "event: "...)
	b = append(b, name...)
	b = append(b, "\ndata: {\"msg_id\":"...)
	return event.AppendString(b, string(message))
}

func key(b []byte, name string) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	return append(b, `":`...)
}

func str(b []byte, name, v string) []byte { return event.AppendString(key(b, name), v) }

func num(b []byte, name string, v int64) []byte { return strconv.AppendInt(key(b, name), v, 10) }

func boolean(b []byte, name string, v bool) []byte { return strconv.AppendBool(key(b, name), v) }

func float(b []byte, name string, v float64) []byte {
	return strconv.AppendFloat(key(b, name), v, 'f', -1, 64)
}

func index(b []byte, name string, v *int) []byte {
	if v == nil {
		return append(key(b, name), "null"...)
	}
	return num(b, name, int64(*v))
}

// raw appends JSON as it is, on one line: a line break inside would end the
// frame's data.
func raw(b []byte, name string, v json.RawMessage) []byte {
	b = key(b, name)
	if len(v) == 0 {
		return append(b, "null"...)
	}
	if !bytes.ContainsAny(v, "\r\n") {
		return append(b, v...)
	}
	var line bytes.Buffer
	if json.Compact(&line, v) != nil {
		return append(b, "null"...)
	}
	return append(b, line.Bytes()...)
}

func closeFrame(b []byte, epoch id.Epoch, seq int64) []byte {
	b = num(b, "seq", seq)
	b = append(b, "}\nid: "...)
	b = id.Cursor{Epoch: epoch, Seq: seq}.Append(b)
	return append(b, "\n\n"...)
}
