package tool

import (
	"bytes"

	"github.com/aymanbagabas/go-udiff"
)

// maxDiffBytes is the largest text, before or after, that a difference is shown
// of.
const maxDiffBytes = 256 << 10

// unifiedDiff returns how a text of a file changes, or "" where that can't be
// shown: one of the two is too large or no text, or they are equal.
func unifiedDiff(p string, before, after []byte) string {
	if max(len(before), len(after)) > maxDiffBytes || bytes.IndexByte(before, 0) >= 0 || bytes.IndexByte(after, 0) >= 0 {
		return ""
	}
	old := string(before)
	d, err := udiff.ToUnified(visible(p), visible(p), old, udiff.Lines(old, string(after)), udiff.DefaultContextLines)
	if err != nil {
		return ""
	}
	return d
}
