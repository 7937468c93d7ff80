package attachment

import (
	"fmt"
	"strings"
)

// Fold returns how a text file stands in what the model is told: a line with its
// name, then the text between fences longer than any in it. Of a text of more
// than MaxFoldBytes the beginning is there, up to a whole character, and a note
// says so (see ClipNote). It is empty for a picture or a PDF.
func Fold(f File) string {
	if f.Kind != KindText {
		return ""
	}
	if f.Text == "" {
		return "Attached file: " + f.Name + "\n(The file is empty.)\n"
	}
	text := cut(f.Text, MaxFoldBytes)
	fence := fenceAround(text)
	var b strings.Builder
	b.Grow(len(text) + len(f.Name) + 200)
	b.WriteString("Attached file: " + f.Name + "\n" + fence + "\n" + text)
	if !strings.HasSuffix(text, "\n") {
		b.WriteString("\n")
	}
	b.WriteString(fence + "\n")
	if note := ClipNote(f); note != "" {
		b.WriteString("(" + note + ")\n")
	}
	return b.String()
}

// ClipNote returns a sentence for people, and for the model, on how much of a
// text file the model is told; empty when it is all of it.
func ClipNote(f File) string {
	if f.Kind != KindText || len(f.Text) <= MaxFoldBytes {
		return ""
	}
	return fmt.Sprintf("The model is told the first %d of the %d bytes of %s; the rest is left out.",
		len(cut(f.Text, MaxFoldBytes)), len(f.Text), f.Name)
}

// fenceAround returns a run of backticks that does not occur in text.
func fenceAround(text string) string {
	longest, run := 2, 0
	for i := range len(text) {
		if text[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}
