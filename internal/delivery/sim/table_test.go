package sim

import (
	"os"
	"strings"
	"testing"

	"verbatim/internal/golden"
)

// The page says what the situations come to now.
func TestDeliveryPage(t *testing.T) {
	const page = "../../../docs/delivery.md"
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(raw), "<!-- table -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- end of table -->\n")
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table", page)
	}
	golden.File(t, page, []byte(before+"<!-- table -->\n"+Comparison()+"<!-- end of table -->\n"+after))
}

// The table names what went wrong, by fault.
func TestWriteSum(t *testing.T) {
	sum := &Sum{}
	sum.Add(1, Result{Words: 10, Lost: 2, Early: 1, Faults: map[Fault]int{Slow: 1}})
	sum.Add(2, Result{Words: 5, Faults: map[Fault]int{RateLimit: 1}})
	var b strings.Builder
	if err := WriteSum(&b, Edit, sum); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(b.String()) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"schedules words unsure calls lost doubled reordered blank stuck cut other edit", "2 15 0 0 2 0 0 0 0 0 1 all",
		"1 5 0 0 0 0 0 0 0 0 0 429 with a delay", "1 10 0 0 2 0 0 0 0 0 1 slow call",
	}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table is\n%s", strings.Join(rows, "\n"))
	}
}
