package main

import (
	"strings"
	"testing"

	"verbatim/bench/internal/load"
)

func testRecord(t *testing.T) *record {
	t.Helper()
	r, err := openRecord(t.TempDir(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.file.Close() })
	return r
}

func TestMedian(t *testing.T) {
	r := testRecord(t)
	for i, v := range []float64{9, 1, 5} {
		if err := r.add(i+1, "row", ours, load.Tally{}, map[string]float64{"v": v}); err != nil {
			t.Fatal(err)
		}
	}
	if got, ok := r.median("row", ours, "v"); !ok || got != 5 {
		t.Errorf("median of three is %v, %v; want 5", got, ok)
	}
	if err := r.add(4, "row", ours, load.Tally{}, map[string]float64{"v": 7}); err != nil {
		t.Fatal(err)
	}
	if got, ok := r.median("row", ours, "v"); !ok || got != 6 {
		t.Errorf("median of four is %v, %v; want 6", got, ok)
	}
	if _, ok := r.median("row", floor, "v"); ok {
		t.Error("a target without readings has a median")
	}
}

func TestTableHoldsReadingsAgainstTargets(t *testing.T) {
	r := testRecord(t)
	add := func(row, target string, wrong int64, values map[string]float64) {
		if err := r.add(1, row, target, load.Tally{Lost: wrong}, values); err != nil {
			t.Fatal(err)
		}
	}
	add(rowToken, "direct", 0, map[string]float64{"p50_ms": 0.1})
	add(rowToken, floor, 0, map[string]float64{"p50_ms": 1.1})
	add(rowToken, ours, 0, map[string]float64{"p50_ms": 1.5})
	add(rowLog, "Append64/log", 0, map[string]float64{"appends/s": 3000})
	add(rowLog, "Append64/file", 0, map[string]float64{"appends/s": 10000})
	add(rowIdle, ours, 1, map[string]float64{"kib_each": 2.25, "cpu_s_per_10s": 0.06})
	var b strings.Builder
	r.print(&b)
	for _, want := range []string{
		"| 1.4 ms | 1 ms | 1.40 | ≤ 1.5 × | holds |",
		"| 3000 /s | 10000 /s | 0.30 | ≥ 0.35 × | missed |",
		"| 2.25 KiB | | | ≤ 5 KiB | holds |",
		"| 0.06 s | | | ≤ 0.05 s | missed |",
		"| lost, repeated, reordered | 1 | 0 | | 0 | missed |",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line with %q in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "missed events") {
		t.Error("a row that was not measured is shown")
	}
}
