package config

import "strings"

// Problem is one thing that is wrong with the configuration.
type Problem struct {
	// Where names the place a person has to look at: file and line, an
	// environment variable, a flag, or a key.
	Where string
	// What says what is wrong and what would be right, without the value of
	// a secret.
	What string
}

// Invalid is returned when the configuration can't be used. It lists all that
// is wrong, not only the first.
type Invalid struct{ Problems []Problem }

// Error has a line for each problem.
func (e *Invalid) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Where + ": " + p.What
	}
	return strings.Join(lines, "\n")
}

// nearest returns the name closest to a mistyped one, empty when none is close.
func nearest(name string, known []string) string {
	best, found := 1+len(name)/3, ""
	for _, k := range known {
		if d := distance(name, k); d <= best && (found == "" || d < best) {
			best, found = d, k
		}
	}
	return found
}

// distance counts the letters to insert, delete or replace to get b from a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func didYouMean(name string, known []string) string {
	near := nearest(name, known)
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}
