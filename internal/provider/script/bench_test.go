package script

import (
	"testing"

	"verbatim/internal/llm"
)

// BenchmarkModel is a whole round without a network: written, read and sorted.
func BenchmarkModel(b *testing.B) {
	s, err := Parse(":repeat 1000 \"token \"\n")
	if err != nil {
		b.Fatal(err)
	}
	m, err := New(s)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for c, err := range m.Stream(b.Context(), llm.Request{}) {
			if err != nil {
				b.Fatal(err)
			}
			if c.Text != "" {
				n++
			}
		}
		if n != 1000 {
			b.Fatalf("got %d pieces, want 1000", n)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/token")
}
