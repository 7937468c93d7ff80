package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	out := `goos: linux
BenchmarkSearch/Insert-2      	 1	 1435 messages/s	 317.0 slowest-ms
BenchmarkSearch/RareWord-2    	 1	 0.2 cpu-p50-ms	 3 cpu-p99-ms	 5.7 hits	 0.25 p50-ms	 4.5 p99-ms
BenchmarkSearch/Ranked-2      	 1	 9 cpu-p50-ms	 20 cpu-p99-ms	 17 hits	 10 p50-ms	 30.25 p99-ms
PASS
`
	var b strings.Builder
	printTable(&b, parse([]byte(out)))
	want := `| query | p50 | p99 | CPU p50 | CPU p99 | target, p99 | |
|---|---|---|---|---|---|---|
| a word, each as often as any other; newest first | 0.25 ms | 4.5 ms | 0.2 ms | 3 ms | ≤ 5 ms | holds |
| a word; best of the newest 1,000 | 10 ms | 30.2 ms | 9 ms | 20 ms | ≤ 25 ms | missed |

Written by 64 at a time: 1435 messages/s, the slowest commit took 317 ms.
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}
