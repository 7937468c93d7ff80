package main

import (
	"fmt"
	"io"
	"text/tabwriter"
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

// perSecond turns a benchmark's time for one operation into a rate.
func perSecond(name string) figure {
	return func(r *record) (float64, bool) {
		ns, ok := r.median(rowLog, name, "ns/op")
		return 1e9 / max(ns, 1), ok
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
		{"durable appends a second, 64 producers", perSecond("Append64"), perSecond("FileAppend64"), 0.35, true, "/s"},
		{"append to follower p50 at 200/s", median(rowLog, "Latency200", "p50-us"), median(rowLog, "FileLatency200", "p50-us"), 2, false, "µs"},
		{"start with 1,000,000 events stored", median(rowStart, ours, "ms"), nil, 60, false, "ms"},
		{"the same after kill -9 in a run", median(rowKilled, ours, "ms"), nil, 60, false, "ms"},
		{"memory then", median(rowKilled, ours, "rss_mib"), nil, 30, false, "MiB"},
		{"binary, stripped", median(rowStart, ours, "binary_mib"), nil, 20, false, "MiB"},
	}
}

// print writes the table of medians. Rows that were not measured are left out.
func (r *record) print(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tproduct\tfloor\tratio\ttarget\t")
	for _, g := range goals() {
		if v, ok := g.value(r); ok {
			g.line(t, r, v)
		}
	}
	fmt.Fprintf(t, "lost, repeated, reordered\t%d\t%d\t\t0\t%s\n", r.wrong(ours), r.wrong(floor), verdict(r.wrong(ours) == 0))
	t.Flush()
}

func (g goal) line(w io.Writer, r *record, v float64) {
	if g.floor == nil {
		fmt.Fprintf(w, "%s\t%.4g %s\t\t\t≤ %g %s\t%s\n", g.what, v, g.unit, g.most, g.unit, verdict(v <= g.most))
		return
	}
	f, ok := g.floor(r)
	if !ok || f <= 0 {
		fmt.Fprintf(w, "%s\t%.4g %s\tnone\t\t\tno floor\n", g.what, v, g.unit)
		return
	}
	ratio, sign := v/f, "≤"
	holds := ratio <= g.most
	if g.atLeast {
		sign, holds = "≥", ratio >= g.most
	}
	fmt.Fprintf(w, "%s\t%.4g %s\t%.4g %s\t%.2f\t%s %g ×\t%s\n", g.what, v, g.unit, f, g.unit, ratio, sign, g.most, verdict(holds))
}

func verdict(holds bool) string {
	if holds {
		return "holds"
	}
	return "MISSED"
}
