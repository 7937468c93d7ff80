package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// reading is what the benchmark said of a class of queries.
type reading struct {
	name   string
	values map[string]float64
}

// goals are the classes of queries in the order of the table, with the largest
// allowed 99th percentile.
var goals = []struct {
	name, what string
	p99        float64 // in milliseconds
}{
	{"CommonWord", "a word, drawn as often as it is written; newest first", 5},
	{"RareWord", "a word, each as often as any other; newest first", 5},
	{"TwoWords", "two words; newest first", 5},
	{"Prefix", "a beginning of one to four letters; newest first", 30},
	{"TwoHan", "two Chinese characters; newest first", 30},
	{"Ranked", "a word; best of the newest 1,000", 25},
	{"RankedTwo", "two words; best of the newest 1,000", 25},
}

// parse reads the lines of go test's benchmark output: a name, a count, then
// pairs of a number and its unit.
func parse(out []byte) []reading {
	var readings []reading
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		f := strings.Fields(sc.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "BenchmarkSearch/") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(f[0], "BenchmarkSearch/"), "-")
		r := reading{name, map[string]float64{}}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				r.values[f[i+1]] = v
			}
		}
		readings = append(readings, r)
	}
	return readings
}

// printTable writes the readings as a Markdown table. Classes that were not measured
// are left out.
func printTable(w io.Writer, readings []reading) {
	of := map[string]map[string]float64{}
	for _, r := range readings {
		of[r.name] = r.values
	}
	fmt.Fprintln(w, "| query | p50 | p99 | CPU p50 | CPU p99 | target, p99 | |\n|---|---|---|---|---|---|---|")
	for _, g := range goals {
		v, ok := of[g.name]
		if !ok {
			continue
		}
		verdict := "holds"
		if v["p99-ms"] > g.p99 {
			verdict = "missed"
		}
		fmt.Fprintf(w, "| %s | %.3g ms | %.3g ms | %.3g ms | %.3g ms | ≤ %g ms | %s |\n",
			g.what, v["p50-ms"], v["p99-ms"], v["cpu-p50-ms"], v["cpu-p99-ms"], g.p99, verdict)
	}
	if v, ok := of["Insert"]; ok {
		fmt.Fprintf(w, "\nWritten by 64 at a time: %.0f messages/s, the slowest commit took %.0f ms.\n", v["messages/s"], v["slowest-ms"])
	}
}
