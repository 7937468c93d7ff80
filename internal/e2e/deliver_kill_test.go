package e2e

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"verbatim/internal/client"
	"verbatim/internal/event"
	"verbatim/internal/id"
	"verbatim/internal/surface/surfacetest"
)

// TestKillWhileItDelivers (G8, G9) kills the program by -9 while answers go out to
// every platform, whose calls fail in all the ways there are, and counts what
// readers see in the end: nothing is lost, nothing is there twice, all is in
// order, but for what receipts call unknown and a line in the chat tells.
func TestKillWhileItDelivers(t *testing.T) {
	random := newRandom(t)
	var sum tally
	total := pick(6, 100)
	for n := 0; n < total; {
		c := newCrowd(t, random, &sum)
		for range min(10, total-n) {
			c.killOnce(n)
			n++
		}
		c.finish()
		if t.Failed() {
			t.Fatalf("after kill %d", n-1)
		}
	}
	t.Logf("%d kills\n%s", total, sum)
	if long() && (sum.interrupted == 0 || sum.unknown == 0 || sum.again == 0) {
		t.Error("the kills hit too little")
	}
}

// tally counts what was hit.
type tally struct {
	words, posts, interrupted, unknown, again int
}

func (s tally) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "words shown\t%d\nposts of text\t%d\nof several calls\t%d\nunknown\t%d\nruns interrupted\t%d\n", s.words, s.posts, s.again, s.unknown, s.interrupted)
	_ = w.Flush() // into memory
	return b.String()
}

// crowd is a town in which people write on all surfaces while the program dies.
type crowd struct {
	*town
	random *rand.Rand
	sum    *tally
	talks  []*chatter
	// busy are people who wait until their message is taken.
	busy sync.WaitGroup
}

// chatter is a chat with the questions that were asked in it.
type chatter struct {
	*talk
	questions []string
}

func newCrowd(t *testing.T, random *rand.Rand, sum *tally) *crowd {
	c := &crowd{random: random, sum: sum}
	c.town = newTown(t, inWords, plan{global: "approval_mode: never"})
	c.start()
	return c
}

// inWords answers a question with words that are nowhere else: some, a tool, more.
func inWords(a ask) []step {
	var steps []step
	from, to := 0, 12
	if a.Round > 0 {
		from, to = 12, 40
	}
	for i := from; i < to; i++ {
		steps = append(steps, say(fmt.Sprintf("w%s-%d ", a.Prompt[1:], i)), pause(15*time.Millisecond))
	}
	if a.Round == 0 {
		return append(steps, call("c1", "current_time", "{}"), finish("tool_calls"))
	}
	return append(steps, finish("stop"))
}

// pause lets a time pass in an answer.
func pause(d time.Duration) step {
	return func(p *player) error {
		select {
		case <-time.After(d):
			return nil
		case <-p.r.Context().Done():
		case <-p.closing:
		}
		return errGone
	}
}

// killOnce lets somebody write in a new chat of every surface, and on the web in an
// older one, and kills the program meanwhile.
func (c *crowd) killOnce(n int) {
	c.t.Helper()
	for _, name := range allSurfaces {
		k := &chatter{talk: talkOn(name, n)}
		c.talks = append(c.talks, k)
		c.far(name).Next(c.faults(name)...)
		q := c.question(k, name[:1])
		c.busy.Go(func() { c.say(k.talk, q) })
	}
	if older := len(c.talks) - 2*len(allSurfaces); older > 0 {
		c.fromWeb(c.talks[c.random.IntN(older)])
	}
	moment(c.random, time.Duration(5+c.random.IntN(2000))*time.Millisecond)
	c.p.kill()
	c.start()
}

// question makes one for a chat.
func (c *crowd) question(k *chatter, kind string) string {
	q := fmt.Sprintf("q%d%s%d", len(c.talks), kind, len(k.questions))
	k.questions = append(k.questions, q)
	return q
}

// faults are what becomes of the next calls of a platform. Those after which Zulip
// has to be looked at for half a minute are rare in a short run.
func (c *crowd) faults(name string) []surfacetest.Fault {
	some := []surfacetest.Fault{
		surfacetest.Fine, surfacetest.Fine, surfacetest.Fine, surfacetest.Lost, surfacetest.Busy, surfacetest.Limit, surfacetest.GatewayTaken,
	}
	if name != onTeam || long() || len(c.talks) == 0 {
		some = append(some, surfacetest.Cut, surfacetest.Gateway)
	}
	if c.random.IntN(8) == 0 {
		some = append(some, surfacetest.Slow)
	}
	var out []surfacetest.Fault
	for range c.random.IntN(6) {
		out = append(out, some[c.random.IntN(len(some))])
	}
	return out
}

// fromWeb sends a message to a chat's conversation from elsewhere, until it is
// taken.
func (c *crowd) fromWeb(k *chatter) {
	c.t.Helper()
	until(c.t, k.conversation+" is idle", calm(func() bool {
		runs, over := c.runsOf(k.talk)
		return over && len(runs) >= len(k.questions)
	}))
	q := c.question(k, "w")
	body := fmt.Sprintf(`{"conversation":%q,"prompt":%q,"run_id":%q}`, k.conversation, q, "run-"+q)
	token := c.p.token
	c.busy.Go(func() {
		for range 200 {
			if at := c.url.Load(); at != nil {
				d := &door{name: "web", base: *at, token: token, do: c.p.client.Do}
				if status(d, "POST", "/api/v1/runs", body) == http.StatusAccepted {
					return
				}
			}
			<-time.After(100 * time.Millisecond)
		}
		c.t.Errorf("%s: the message from the web was not taken", k.conversation)
	})
}

// finish waits until all is shown, and looks at it.
func (c *crowd) finish() {
	c.t.Helper()
	c.busy.Wait()
	receipts := map[*chatter][]client.Receipts{}
	var chats []id.Conversation
	for _, k := range c.talks {
		receipts[k] = c.settled(k.talk, len(k.questions))
		chats = append(chats, id.Conversation(k.conversation))
	}
	if code := c.p.stop(); code != 0 {
		c.t.Errorf("exit code %d, want 0", code)
	}
	stored := readStored(c.t, c.p.dir, chats...)
	for _, k := range c.talks {
		records := stored[id.Conversation(k.conversation)]
		checkRecords(c.t, id.Conversation(k.conversation), records)
		j := newJudge(c, k, records, receipts[k])
		j.questions()
		j.words()
		j.receipts()
		if c.t.Failed() {
			c.t.Fatalf("%s shows:\n%s\nreceipts: %+v", k.conversation, c.text(k.talk), receipts[k])
		}
	}
}

// judge compares what is stored of a conversation, what a reader of its chat sees,
// and what the receipts say.
type judge struct {
	*crowd
	k       *chatter
	records []event.Record
	placed  []client.Placement
	runs    []string // of the placements
	texts   map[segmentOf]string
	order   []segmentOf
}

type segmentOf struct{ run, segment string }

func newJudge(c *crowd, k *chatter, records []event.Record, all []client.Receipts) *judge {
	j := &judge{crowd: c, k: k, records: records, texts: map[segmentOf]string{}}
	for _, r := range records {
		e, err := r.Event()
		if err != nil {
			c.t.Fatalf("%s: seq %d: %v", k.conversation, r.Seq, err)
		}
		switch e := e.(type) {
		case event.Delta:
			at := segmentOf{string(r.Run), string(e.Segment)}
			if _, ok := j.texts[at]; !ok {
				j.order = append(j.order, at)
			}
			j.texts[at] += e.Text
		case event.Error:
			if e.Code == event.CodeInterrupted {
				c.sum.interrupted++
			}
		}
	}
	for _, r := range all {
		for _, s := range r.Surfaces {
			if s.Surface != k.surface || s.Chat.ID != k.chat.ID || s.Chat.Thread != k.chat.Thread {
				c.t.Errorf("%s: run %s is shown in %s %+v", k.conversation, r.Run, s.Surface, s.Chat)
			}
			for _, p := range s.Placements {
				j.placed, j.runs = append(j.placed, p), append(j.runs, r.Run)
			}
		}
	}
	return j
}

// questions: each is in exactly one turn.
func (j *judge) questions() {
	var got []string
	for _, r := range j.records {
		if e, err := r.Event(); err == nil {
			if m, ok := e.(event.UserMessage); ok {
				got = append(got, m.Text)
			}
		}
	}
	if !slices.Equal(got, j.k.questions) {
		j.t.Errorf("%s: the questions %q became the turns %q", j.k.conversation, j.k.questions, got)
	}
}

var aWord = regexp.MustCompile(`^w[0-9]+[a-z][0-9]-[0-9]+$`)

func wordsOf(text string) []string {
	return slices.DeleteFunc(strings.Fields(text), func(s string) bool { return !aWord.MatchString(s) })
}

// words: a reader sees what is stored, once and in order; only what receipts call
// unknown may be missing, and the chat says so.
func (j *judge) words() {
	shown := wordsOf(j.text(j.k.talk))
	j.sum.words += len(shown)
	for _, at := range j.order {
		for _, w := range placesOf(j.texts[at]) {
			switch {
			case len(shown) > 0 && shown[0] == w.text:
				shown = shown[1:]
			case !j.unknown(at, w):
				j.t.Errorf("%s: %s is lost, or not where it should be; next is %q", j.k.conversation, w.text, first(shown))
				return
			}
		}
	}
	if len(shown) > 0 {
		j.t.Errorf("%s: %q is there twice, or out of order", j.k.conversation, shown)
	}
}

func first(words []string) string {
	if len(words) == 0 {
		return ""
	}
	return words[0]
}

// wordAt is a word in a segment.
type wordAt struct {
	text     string
	from, to int64
}

func placesOf(text string) (out []wordAt) {
	at := int64(0)
	for piece := range strings.SplitAfterSeq(text, " ") {
		if w := strings.TrimSpace(piece); aWord.MatchString(w) {
			out = append(out, wordAt{w, at, at + int64(len(w))})
		}
		at += int64(len(piece))
	}
	return out
}

// unknown reports whether a word is in a piece that nobody can tell about.
func (j *judge) unknown(at segmentOf, w wordAt) bool {
	for i, p := range j.placed {
		if p.State == "unknown" && (segmentOf{j.runs[i], p.Segment}) == at && p.From < w.to && p.To > w.from {
			return true
		}
	}
	return false
}

// receipts: what is confirmed is what the platform shows under that id, and the
// ranges of each segment are all of it.
func (j *judge) receipts() {
	shown := map[string]string{}
	for _, m := range j.shown(j.k.talk) {
		shown[m.PlatformID] = m.Text
	}
	ranges := map[segmentOf][]client.Placement{}
	for i, p := range j.placed {
		j.state(i, p)
		if p.Segment == "" {
			continue
		}
		at := segmentOf{j.runs[i], p.Segment}
		ranges[at] = append(ranges[at], p)
		if p.State != "delivered" {
			continue
		}
		j.sum.posts++
		want := wordsOf(j.texts[at][p.From:p.To])
		if got, ok := shown[p.PlatformID]; !ok || !slices.Equal(wordsOf(got), want) {
			j.t.Errorf("%s: message %q shows %q, its receipt says bytes %d to %d: %q", j.k.conversation, p.PlatformID, got, p.From, p.To, want)
		}
	}
	for _, at := range j.order {
		all := ranges[at]
		slices.SortFunc(all, func(a, b client.Placement) int { return cmp.Compare(a.From, b.From) })
		end := int64(0)
		for _, p := range all {
			if p.From != end {
				break
			}
			end = p.To
		}
		if end != int64(len(j.texts[at])) {
			j.t.Errorf("%s: the pieces of segment %v are %+v, and it has %d bytes", j.k.conversation, at, all, len(j.texts[at]))
		}
	}
}

// state: only a platform that can't tell leaves anything unknown, and then a line
// says so.
func (j *judge) state(i int, p client.Placement) {
	if p.Attempts > 1 {
		j.sum.again++
	}
	told := func(q client.Placement) bool { return strings.HasPrefix(q.Item, "u:") }
	switch {
	case p.State == "delivered", p.State == "blank":
	case p.State != "unknown" || j.k.surface == onHook || j.k.surface == onTeam:
		j.t.Errorf("%s: %s %q of run %s is %s: %s", j.k.conversation, p.Item, p.PlatformID, j.runs[i], p.State, p.Error)
	default:
		j.sum.unknown++
		if p.Segment != "" && !slices.ContainsFunc(j.placed, told) {
			j.t.Errorf("%s: a piece is unknown, and no line says so", j.k.conversation)
		}
	}
}
