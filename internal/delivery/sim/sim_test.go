package sim

import (
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// schedules is how many are played of each kind of surface.
func schedules() int {
	if os.Getenv("VERBATIM_LONG") != "" {
		return 100_000
	}
	return 2000 / slower
}

// seeds returns those of a test: VERBATIM_SEED alone, if it is set.
func seeds(t *testing.T, n int) []uint64 {
	t.Helper()
	if s := os.Getenv("VERBATIM_SEED"); s != "" {
		seed, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatalf("VERBATIM_SEED: %v", err)
		}
		return []uint64{seed}
	}
	all := make([]uint64, n)
	for i := range all {
		all[i] = uint64(i)
	}
	return all
}

// play plays schedules and complains of those that failed.
func play(t *testing.T, opt Options, n int) *Sum {
	t.Helper()
	sum := &Sum{}
	for _, seed := range seeds(t, n) {
		r := Run(seed, opt)
		sum.Add(seed, r)
		if !r.Failed() {
			continue
		}
		if len(sum.Failed) > 3 {
			t.Fatalf("%d of %d schedules failed so far", len(sum.Failed), sum.Schedules)
		}
		opt := opt
		opt.Trace = true
		t.Errorf("VERBATIM_SEED=%d fails: %s\n%s", seed, strings.Join(r.Problems, "\n"), strings.Join(tail(Run(seed, opt).Trace, 120), "\n"))
	}
	return sum
}

func tail(lines []string, n int) []string { return lines[max(0, len(lines)-n):] }

// Whatever goes wrong, a reader sees each word once, in order, and is told of what
// may be missing; and each fault is really tried.
func TestSchedules(t *testing.T) {
	for _, s := range Surfaces() {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			sum := play(t, Options{Surface: s}, schedules())
			if sum.Schedules == 1 {
				return
			}
			for _, f := range Faults(s) {
				had := sum.ByFault[f]
				if had == nil || had.Schedules*20 < sum.Schedules {
					t.Errorf("%q happens in less than 1 of 20 schedules: %+v", f, had)
				}
			}
			if sum.Total.Unsure*4 > sum.Total.Words {
				t.Errorf("%d of %d words are unsure: too many for loss to be seen", sum.Total.Unsure, sum.Total.Words)
			}
		})
	}
}

// Two chats of one account share its budget, and neither waits for the other's
// faults.
func TestTwoChatsOfOneAccount(t *testing.T) {
	for _, s := range []Surface{Edit, Blind} {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			play(t, Options{Surface: s, Chats: 2}, schedules()/5)
		})
	}
}

// A seed is a schedule: played again it is the same.
func TestSeedRepeats(t *testing.T) {
	for _, s := range Surfaces() {
		for seed := range uint64(20) {
			a, b := Run(seed, Options{Surface: s, Trace: true}), Run(seed, Options{Surface: s, Trace: true})
			if !reflect.DeepEqual(a, b) {
				t.Fatalf("%s: seed %d is not the same twice", s, seed)
			}
		}
	}
}

// A judge that finds nothing would find nothing wrong with this either.
func TestJudgeSees(t *testing.T) {
	type damage func(w *world, r *room)
	first := func(r *room) *message {
		i := slices.IndexFunc(r.messages, func(m *message) bool { all, _ := words(m.text); return len(all) > 3 })
		return r.messages[i]
	}
	tests := map[string]struct {
		do   damage
		seen func(r Result) int
	}{
		"a word goes missing": {func(_ *world, r *room) {
			m := first(r)
			all, _ := words(m.text)
			m.text = strings.Replace(m.text, all[1].name, "", 1)
		}, func(r Result) int { return r.Lost }},
		"a message is there twice": {func(_ *world, r *room) { r.messages = append(r.messages, first(r)) }, func(r Result) int { return r.Doubled }},
		"two words change places": {func(_ *world, r *room) {
			m := first(r)
			all, _ := words(m.text)
			m.text = all[1].name + " " + all[0].name + " " + m.text[all[2].at:]
		}, func(r Result) int { return r.Reordered }},
		"a word is cut":         {func(_ *world, r *room) { m := first(r); m.text += " Q12" }, func(r Result) int { return r.Cut }},
		"a receipt claims more": {func(_ *world, r *room) { first(r).text = "" }, func(r Result) int { return r.Untrue }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			sc := newScene(Options{Surface: Edit})
			sc.one(80)
			sc.w.tell(sc.story)
			sc.w.play()
			test.do(sc.w, sc.room)
			sc.w.judge()
			if test.seen(sc.w.res) == 0 {
				t.Errorf("the judge sees nothing: %+v", sc.w.res)
			}
		})
	}
}

// An answer of any length is whole and there once where nothing can be edited.
func TestAnswerLengths(t *testing.T) {
	for _, size := range []int{44, 71, 223, 335, 356, 439, 780, 785, 1314} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			for _, nameless := range []bool{false, true} {
				sc := newScene(Options{Surface: Blind})
				sc.w.caps.Size.Max, sc.w.nameless = 500, nameless
				text := ""
				for len(text) < size {
					text += sc.mint.word() + "\n\n "[len(text)%3:][:1]
				}
				sc.says("answer", text[:strings.LastIndex(text[:size], "E")+1])
				sc.done()
				if r := sc.over(); r.Failed() || r.Unsure > 0 {
					t.Errorf("nameless %v: %q\n%q", nameless, r.Problems, r.Posts)
				}
			}
		})
	}
}

// What is added up is what was found.
func TestSum(t *testing.T) {
	sum := &Sum{}
	sum.Add(1, Result{Lost: 2, Faults: map[Fault]int{Slow: 1}})
	sum.Add(2, Result{Faults: map[Fault]int{Slow: 3, RateLimit: 1}})
	if !slices.Equal(sum.Failed, []uint64{1}) || sum.ByFault[Slow].Schedules != 2 || sum.ByFault[Slow].Total.Lost != 2 || sum.ByFault[RateLimit].Total.Lost != 0 {
		t.Errorf("added up to %+v", sum)
	}
}
