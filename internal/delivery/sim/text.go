package sim

import (
	"math/rand/v2"
	"strings"
)

// writer makes texts as models write them.
type writer struct {
	rand *rand.Rand
	mint *mint
}

var emoji = []string{"🙂", "👩‍💻", "🇩🇪", "👍🏽", "é", "❤️"}

// text makes one of about so many bytes.
func (w *writer) text(size int) string {
	var b strings.Builder
	if w.rand.IntN(8) == 0 {
		b.WriteString("\n\n")
	}
	for b.Len() == 0 || b.Len() < size {
		if b.Len() > 2 {
			b.WriteString("\n\n")
		}
		w.block(&b, size-b.Len())
	}
	if w.rand.IntN(6) == 0 {
		b.WriteString("\n\n")
	}
	return b.String()
}

func (w *writer) block(b *strings.Builder, room int) {
	switch w.rand.IntN(12) {
	case 0:
		w.fence(b, room)
	case 1:
		w.table(b, room)
	case 2:
		w.list(b)
	case 3:
		n := 3 + w.rand.IntN(max(min(room/3, 200), 1))
		for range n {
			b.WriteString(w.mint.ideograph())
		}
		b.WriteString("。")
	default:
		w.paragraph(b, min(room, 40+w.rand.IntN(400)))
	}
}

func (w *writer) paragraph(b *strings.Builder, size int) {
	end := b.Len() + size
	for i := 0; i == 0 || b.Len() < end; i++ {
		if i > 0 {
			b.WriteByte(" \n"[min(w.rand.IntN(12)/11, 1)])
		}
		switch w.rand.IntN(16) {
		case 0:
			b.WriteString("**" + w.mint.word() + "**")
		case 1:
			b.WriteString("`" + w.mint.word() + "`")
		case 2:
			b.WriteString(w.mint.word() + " " + emoji[w.rand.IntN(len(emoji))])
		case 3:
			b.WriteString(w.mint.word() + ", " + w.mint.word() + ".")
		default:
			b.WriteString(w.mint.word())
		}
	}
}

func (w *writer) list(b *strings.Builder) {
	for i := range 1 + w.rand.IntN(5) {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + w.mint.word() + " " + w.mint.word())
	}
}

func (w *writer) fence(b *strings.Builder, room int) {
	b.WriteString("```py\n")
	for range 1 + w.rand.IntN(max(min(room/30, 60), 1)) {
		b.WriteString(strings.Repeat("    ", w.rand.IntN(3)) + w.mint.word() + " = " + w.mint.word() + "\n")
	}
	if w.rand.IntN(10) > 0 {
		b.WriteString("```")
	}
}

func (w *writer) table(b *strings.Builder, room int) {
	b.WriteString("| name | size |\n|---|---|\n")
	for range 1 + w.rand.IntN(max(min(room/25, 40), 1)) {
		b.WriteString("| " + w.mint.word() + " | " + w.mint.word() + " |\n")
	}
}

// pieces cuts a text as a model's stream does: anywhere between characters.
func (w *writer) pieces(text string, most int) []string {
	var out []string
	for text != "" {
		n := min(1+w.rand.IntN(most), len(text))
		for n < len(text) && text[n]&0xC0 == 0x80 {
			n++
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}
