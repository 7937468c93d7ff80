package sim

import "strconv"

// A word is Q, digits, E, or one ideograph. Each is there once in a schedule, so
// that losing, doubling and moving one can be seen.

// word is one in a text, at a byte.
type word struct {
	name string
	at   int
}

const (
	firstIdeograph = 0x4E00
	lastIdeograph  = 0x9FA5
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// words finds those of a text; half counts beginnings and ends of ones that were
// cut.
func words(text string) (all []word, half int) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == 'Q':
			j := i + 1
			for j < len(text) && isDigit(text[j]) {
				j++
			}
			if j > i+1 && j < len(text) && text[j] == 'E' {
				all = append(all, word{text[i : j+1], i})
				j++
			} else {
				half++
			}
			i = j
		case c == 'E' && (i == 0 || isDigit(text[i-1])):
			half++
			i++
		case c >= 0xE4 && c <= 0xE9 && i+3 <= len(text):
			if isIdeograph(text[i : i+3]) {
				all = append(all, word{text[i : i+3], i})
			}
			i += 3
		default:
			i++
		}
	}
	return all, half
}

func isIdeograph(s string) bool {
	for _, r := range s {
		return r >= firstIdeograph && r <= lastIdeograph
	}
	return false
}

// mint makes words.
type mint struct{ plain, ideographs int }

func (m *mint) word() string {
	m.plain++
	return "Q" + strconv.Itoa(m.plain) + "E"
}

// ideograph makes a word of one character; there are enough of them for a
// schedule.
func (m *mint) ideograph() string {
	r := firstIdeograph + m.ideographs%(lastIdeograph-firstIdeograph)
	m.ideographs++
	return string(rune(r))
}
