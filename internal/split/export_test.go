package split

import "strings"

// FenceOpen reports whether a fence is open at the end of a text.
func FenceOpen(text string) bool {
	var m mark
	for m.advance(text, m.at, len(text)) {
	}
	after, _ := m.step(text, m.at, len(text))
	return after.fence.open() && strings.TrimSpace(text) != ""
}
