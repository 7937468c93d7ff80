package e2e

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// patience bounds every wait of these tests. It is never reached by a program
// that works, also on a slow machine.
const patience = 60 * time.Second

// until waits for something that gives no signal: a state inside another
// process. It is the one place that looks again and again.
func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("gave up after %v waiting until %s", patience, what)
		}
	}
}

// receive waits for a signal.
func receive[T any](t testing.TB, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("gave up after %v waiting for %s", patience, what)
	}
	panic("unreachable")
}

// moment lets a random time of at most limit pass, so that what follows comes
// at an instant that nobody chose. Nothing is asserted about it.
func moment(random *rand.Rand, limit time.Duration) {
	if limit == 0 {
		return
	}
	<-time.After(time.Duration(random.Int64N(int64(limit) + 1)))
}

// newRandom returns the randomness of a test and prints what repeats it.
func newRandom(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64() >> 1
	if s := os.Getenv("VERBATIM_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("VERBATIM_SEED: %v", err)
		}
		seed = n
	}
	t.Logf("VERBATIM_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}
