package main

import (
	"fmt"
	"io"
)

// The targets that every row has readings for.
const (
	ours  = "product"
	floor = "floor"
)

// goal is a line of the table: a value of the product, what it is held against,
// and whether it holds.
type goal struct {
	what         string
	value, floor figure
	// most is the largest allowed ratio of value to floor, or the largest
	// allowed value where there is no floor; atLeast turns it around.
	most    float64
	atLeast bool
	unit    string
}

// figure finds the median of a reading.
type figure func(*record) (float64, bool)

func median(row, target, value string) figure {
	return func(r *record) (float64, bool) { return r.median(row, target, value) }
}

// added is a median less that of the straight way.
func added(target string) figure {
	return func(r *record) (float64, bool) {
		v, ok := r.median(rowToken, target, "p50_ms")
		direct, ok2 := r.median(rowToken, "direct", "p50_ms")
		return v - direct, ok && ok2
	}
}

func goals() []goal {
	return []goal{
		{"p50 added a token, 100 runs of 50/s", added(ours), added(floor), 1.5, false, "ms"},
		{"server CPU a million deliveries, 100 readers", median(rowFanout(100), ours, "cpu_s_per_million"), median(rowFanout(100), floor, "cpu_s_per_million"), 1.5, false, "s"},
		{"server CPU a million deliveries, 1,000 readers", median(rowFanout(1000), ours, "cpu_s_per_million"), median(rowFanout(1000), floor, "cpu_s_per_million"), 1.5, false, "s"},
		{"memory an idle follower, 5,000 of them", median(rowIdle, ours, "kib_each"), nil, 5, false, "KiB"},
		{"CPU in 10 s with 5,000 idle followers", median(rowIdle, ours, "cpu_s_per_10s"), nil, 0.05, false, "s"},
		{"1,000 missed events, from memory", median(rowResumeMemory, ours, "p50_ms"), median(rowResumeMemory, floor, "p50_ms"), 2, false, "ms"},
		{"1,000 missed events, from disk", median(rowResumeDisk, ours, "p50_ms"), nil, 10, false, "ms"},
		{"durable appends a second, 64 producers", median(rowLog, "Append64/log", "appends/s"), median(rowLog, "Append64/file", "appends/s"), 0.35, true, "/s"},
		{"append to follower p50 at 200/s", median(rowLog, "Latency200/log", "p50-us"), median(rowLog, "Latency200/file", "p50-us"), 2, false, "µs"},
		{"start with 1,000,000 events stored", median(rowStart, ours, "ms"), nil, 60, false, "ms"},
		{"the same after kill -9 in a run", median(rowKilled, ours, "ms"), nil, 60, false, "ms"},
		{"memory then", median(rowKilled, ours, "rss_mib"), nil, 30, false, "MiB"},
		{"binary, stripped", median(rowStart, ours, "binary_mib"), nil, 20, false, "MiB"},
	}
}

// print writes the medians as a Markdown table. Rows that were not measured are
// left out.
func (r *record) print(w io.Writer) {
	fmt.Fprintln(w, "| what | product | floor | ratio | target | |\n|---|---|---|---|---|---|")
	for _, g := range goals() {
		if v, ok := g.value(r); ok {
			g.line(w, r, v)
		}
	}
	fmt.Fprintf(w, "| lost, repeated, reordered | %d | %d | | 0 | %s |\n", r.wrong(ours), r.wrong(floor), verdict(r.wrong(ours) == 0))
}

func (g goal) line(w io.Writer, r *record, v float64) {
	if g.floor == nil {
		fmt.Fprintf(w, "| %s | %s | | | ≤ %g %s | %s |\n", g.what, g.show(v), g.most, g.unit, verdict(v <= g.most))
		return
	}
	f, ok := g.floor(r)
	if !ok || f <= 0 {
		fmt.Fprintf(w, "| %s | %s | none | | | no floor |\n", g.what, g.show(v))
		return
	}
	ratio, sign := v/f, "≤"
	holds := ratio <= g.most
	if g.atLeast {
		sign, holds = "≥", ratio >= g.most
	}
	fmt.Fprintf(w, "| %s | %s | %s | %.2f | %s %g × | %s |\n", g.what, g.show(v), g.show(f), ratio, sign, g.most, verdict(holds))
}

func (g goal) show(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%.0f %s", v, g.unit)
	}
	return fmt.Sprintf("%.3g %s", v, g.unit)
}

func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "missed"
}
