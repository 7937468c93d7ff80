package main

import (
	"bufio"
	"bytes"
	"context"
	"strconv"
	"strings"

	"verbatim/bench/internal/load"
)

const rowLog = "log"

// logBench runs the Go benchmarks of the log, which have their own floor beside
// them: a plain file with fdatasync.
func (l *lab) logBench(ctx context.Context) error {
	out, err := run(ctx, l.repo, []string{"TMPDIR=" + l.work}, "go", "test", "-run", "^$",
		"-bench", "^Benchmark(Append64|AppendOne|Latency200)$", "-benchtime", "2s", "./internal/turnlog")
	if err != nil {
		return err
	}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		name, values, ok := parseBenchmark(sc.Text())
		if !ok {
			continue
		}
		if err := l.record.add(l.round, rowLog, name, load.Tally{}, values); err != nil {
			return err
		}
	}
	return nil
}

// parseBenchmark reads a line of go test's benchmark output: a name, a count,
// then pairs of a number and its unit.
func parseBenchmark(line string) (name string, values map[string]float64, ok bool) {
	f := strings.Fields(line)
	if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
		return "", nil, false
	}
	name = strings.TrimPrefix(f[0], "Benchmark")
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i]
	}
	values = map[string]float64{}
	for i := 2; i+1 < len(f); i += 2 {
		v, err := strconv.ParseFloat(f[i], 64)
		if err != nil {
			return "", nil, false
		}
		values[f[i+1]] = v
	}
	return name, values, true
}
