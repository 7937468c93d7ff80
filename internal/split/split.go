// Package split cuts a Markdown text that may still grow into pieces that a chat
// platform takes, and says how each piece is shown alone.
//
// A piece is a range of bytes of the text. The ranges follow each other without
// a gap, so that joined they are the text. Where a piece ends depends on the text
// up to a little behind that end, and on nothing else: of a text that is valid
// UTF-8, once a piece is sealed, it stays what it is whatever is added. Markers,
// such as a fence that is opened again, are put around a range when it is shown
// and never become part of it.
package split

// Rule says how long a piece may be.
type Rule struct {
	// Max is the longest piece; less than 1 counts as 1.
	Max int
	// Measure returns how long the platform finds what becomes of a piece's
	// Text; never less than 0. It must be a pure function. The more it grows
	// with the text the better pieces are filled, but nothing else depends on
	// that. Nil counts bytes.
	Measure func(display string) int
	// Markers says that a fence that is cut is closed and opened again, that
	// the header of a table is repeated, and that a quote goes on as one.
	// Without it a piece is shown as its range. Markers take at most half of
	// Max: where they would take more they are made simpler, then left out.
	Markers bool
}

// Cut returns where the piece ends that begins at from. closed says that the
// text grows no more.
//
// If the rest of the text fits, that is its end, and sealed is false. Else the
// end is a good place in the text before, and sealed is true: for every text
// that begins like this one it is the same. So a rest that would fit is cut all
// the same if it was too long when it was shorter, as a link can be that has not
// ended. Where Measure jumps, a text that is not closed may be too long just now
// without being sealed yet; then the end is before the text's, and only so much
// is to be shown for now.
//
// A piece is not over Max, with the exception of one that is a single code
// point. It has a character that a reader sees, unless none is left: blanks
// belong to the piece before them, and those at the very start to the one after
// them. It ends within a grapheme cluster only if that is over Max alone. It has
// at most 64 x Max + 4,096 bytes, whatever Measure says.
func (r Rule) Cut(text string, from int, closed bool) (to int, sealed bool) {
	return new(Scanner).Cut(r, text, from, closed)
}

// Display returns how text[from:to] is shown alone. It depends on text[:to] only.
func (r Rule) Display(text string, from, to int) Piece {
	return new(Scanner).Display(r, text, from, to)
}

// Paragraph returns the last place after from at which a paragraph has ended for
// good: behind a blank line that is outside of fences and tables. Between from
// and it is a character that a reader sees. It is from if there is none.
func Paragraph(text string, from int) int {
	return new(Scanner).Paragraph(text, from)
}

// max keeps the bounds made from Max far from the largest number.
func (r Rule) max() int { return min(max(1, r.Max), 1<<30) }

// most is how many bytes a piece has at most. It bounds the work for text that
// takes no room, such as definitions of links.
func (r Rule) most() int { return 64*r.max() + 4096 }

func (r Rule) measure(display string) int {
	if r.Measure == nil {
		return len(display)
	}
	return max(0, r.Measure(display))
}

// affords reports whether markers leave at least half of a piece to the text.
func (r Rule) affords(markers string) bool {
	return markers == "" || r.measure(markers)*2 <= r.max()
}
