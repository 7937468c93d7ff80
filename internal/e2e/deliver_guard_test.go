package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestPrivateTargetIsRefused: a webhook's target in a private network is called
// only where that is allowed, and receipts say why nothing was sent. No secret of a
// surface is in receipts; that none is in the log, each town looks at by itself.
func TestPrivateTargetIsRefused(t *testing.T) {
	w := newTown(t, saysTwice, plan{global: "approval_mode: never\nlog_level: debug", extra: map[string]string{onBlind: guarded}})
	w.start()
	closed, open := talkOn(onBlind, 1), talkOn(onHook, 1)
	w.say(open, "What time is it?")
	told := written(t, w.settled(open, 1))
	w.say(closed, "What time is it?")
	until(t, "a receipt says why nothing was sent", calm(func() bool {
		runs, over := w.runsOf(closed)
		if !over {
			return false
		}
		r := written(t, w.receipts(runs[0]))
		told += r
		return strings.Contains(r, "is not on the public internet, so it was not contacted")
	}))
	if n := w.blind.Calls(); n != 0 {
		t.Errorf("the target was called %d times", n)
	}
	for _, secret := range []string{hookSecret, outSecret, urlSecret} {
		if strings.Contains(told, secret) {
			t.Errorf("%q is in the receipts: %s", secret, told)
		}
	}
}

func written(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
