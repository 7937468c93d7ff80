package agent

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"
	"unicode"
	"unicode/utf8"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// maxPiece is the longest text of one event, in bytes. A provider's longer
// delta becomes several events, cut between characters, so that no reader ever
// has to hold a huge one.
const maxPiece = 32 << 10

// segment is open text or reasoning.
type segment struct {
	id      id.Segment
	bytes   int64
	hash    hash.Hash
	visible bool
}

func newSegment(n int) *segment {
	return &segment{id: id.SegmentOf(n), hash: sha256.New()}
}

// add takes more text and returns where it begins.
func (s *segment) add(text string) (offset int64) {
	offset = s.bytes
	s.bytes += int64(len(text))
	s.hash.Write([]byte(text))
	s.visible = s.visible || isVisible(text)
	return offset
}

func (s *segment) end(phase event.Phase) event.SegmentEnd {
	return event.SegmentEnd{
		Segment: s.id, Phase: phase, Bytes: s.bytes,
		SHA256: hex.EncodeToString(s.hash.Sum(nil)), Visible: s.visible,
	}
}

func isVisible(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return !unicode.IsSpace(r) }) >= 0
}

// cutPiece returns how many bytes of text go into the next event.
func cutPiece(text string) int {
	if len(text) <= maxPiece {
		return len(text)
	}
	n := maxPiece
	for !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}
