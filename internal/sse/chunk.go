package sse

import (
	"bytes"
	"math/bits"
	"strconv"
)

// lastChunk ends a chunked body.
const lastChunk = "0\r\n\r\n"

// appendChunk appends b to out as one HTTP chunk.
func appendChunk(out, b []byte) []byte {
	out = strconv.AppendInt(out, int64(len(b)), 16)
	out = append(out, "\r\n"...)
	out = append(out, b...)
	return append(out, "\r\n"...)
}

// chunkLen is how long a chunk of n bytes is, n being at least 1.
func chunkLen(n int) int {
	return (bits.Len(uint(n))+3)/4 + len("\r\n") + n + len("\r\n")
}

// appendBare appends the frames of a page to out without their chunks. from is
// where the first of them begins.
func appendBare(out, buf []byte, marks []mark, from int) []byte {
	for _, m := range marks {
		chunk := buf[from:m.end]
		out = append(out, chunk[bytes.IndexByte(chunk, '\n')+1:len(chunk)-len("\r\n")]...)
		from = m.end
	}
	return out
}
