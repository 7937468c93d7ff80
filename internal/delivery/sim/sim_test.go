package sim

import (
	"fmt"
	"os"
	"strconv"
	"testing"
)

func TestOne(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	if n == 0 {
		n = 200
	}
	for _, s := range Surfaces() {
		var sum Sum
		for seed := range uint64(n) {
			r := Run(seed, Options{Surface: s})
			sum.Add(seed, r)
			if r.Failed() && len(sum.Failed) < 6 {
				fmt.Println(s, seed, r.Problems, r.Faults)
			}
		}
		fmt.Printf("%s failed %d of %d: %+v\n", s, len(sum.Failed), n, sum.Total)
		for f, x := range map[Fault]*Sum{} {
			fmt.Printf("   %-40s %d\n", f, x.Schedules)
		}
	}
	if s := os.Getenv("VERBATIM_SEED"); s != "" {
		seed, _ := strconv.ParseUint(s, 10, 64)
		r := Run(seed, Options{Surface: Surface(os.Getenv("S")), Trace: true})
		for _, l := range r.Trace {
			fmt.Println(l)
		}
		fmt.Println(r.Problems)
	}
}
