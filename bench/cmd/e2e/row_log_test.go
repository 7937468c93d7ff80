package main

import (
	"maps"
	"testing"
)

func TestParseBenchmark(t *testing.T) {
	name, values, ok := parseBenchmark("BenchmarkLatency200/log-2 \t 400\t  5000123 ns/op\t  701.5 p50-us")
	want := map[string]float64{"ns/op": 5000123, "p50-us": 701.5}
	if !ok || name != "Latency200/log" || !maps.Equal(values, want) {
		t.Errorf("got %q %v %v", name, values, ok)
	}
	for _, line := range []string{"", "goos: linux", "PASS", "ok  \tverbatim/internal/turnlog\t3.1s"} {
		if _, _, ok := parseBenchmark(line); ok {
			t.Errorf("%q was read as a benchmark", line)
		}
	}
}
