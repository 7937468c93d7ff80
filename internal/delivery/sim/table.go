package sim

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteSum writes what schedules of a kind of surface came to: a line for all, and
// one for those in which each fault happened.
func WriteSum(to io.Writer, s Surface, sum *Sum) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	// Flush tells of what could not be written.
	_, _ = fmt.Fprintf(w, "schedules\twords\tunsure\tcalls\tlost\tdoubled\treordered\tblank\tstuck\tcut\tother\t  %s\n", s)
	row := func(name string, s *Sum) {
		t := s.Total
		_, _ = fmt.Fprintf(w, "%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t  %s\n",
			s.Schedules, t.Words, t.Unsure, t.Calls, t.Lost, t.Doubled, t.Reordered, t.Blank, t.Stuck, t.Cut, t.Other(), name)
	}
	row("all", sum)
	for _, f := range slices.Sorted(maps.Keys(sum.ByFault)) {
		row(string(f), sum.ByFault[f])
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// Comparison is the table of the situations in Markdown.
func Comparison() string {
	var b strings.Builder
	b.WriteString("| situation | lost there | doubled there | cursors left there | lost here | doubled here | cursors left here | unsure here, and said so |\n|---|---|---|---|---|---|---|---|\n")
	for _, s := range Situations() {
		r := s.Run(Options{})
		unsure := "–"
		if r.Unsure > 0 {
			unsure = fmt.Sprintf("%d/%d", r.Unsure, r.Words)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d/%d | %d | %d | %s |\n",
			s.Name, s.Theirs.Lost, s.Theirs.Doubled, s.Theirs.Cursor, r.Lost, r.Words, r.Doubled, r.Glyphs, unsure)
	}
	return b.String()
}
