package telegram_test

import (
	"strings"
	"testing"
	"time"

	"verbatim/internal/surface/telegram"
)

func TestTmpSlow(t *testing.T) {
	s := newSurface(t, telegram.Options{})
	for _, p := range []string{">"} {
		m := strings.Repeat(p, 4096/len(p))
		st := time.Now()
		parsed(t, s, m)
		d := time.Since(st)
		if d > 5*time.Millisecond {
			t.Logf("%v %q", d, p)
		}
	}
	m := strings.Repeat("Some **bold** and `code` text with [links](http://a.b/c) and words.\n\n- item\n- item\n\n", 50)[:4096]
	st := time.Now()
	for range 100 { s.Render(m, false) }
	t.Log(time.Since(st)/100)
}
