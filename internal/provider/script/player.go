package script

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const playBuffer = 16 << 10

// player sends the steps of one round as a stream. What needs no waiting is
// sent together.
type player struct {
	ctx     context.Context
	w       http.ResponseWriter
	out     *bufio.Writer
	line    []byte
	asked   *question
	message string

	begun bool
	// gone: the client is, or the script dropped it.
	gone   bool
	pieces int64
	tools  int
	usage  *usageStep
	ended  bool
}

func newPlayer(ctx context.Context, w http.ResponseWriter, asked *question, message string) *player {
	return &player{ctx: ctx, w: w, out: bufio.NewWriterSize(w, playBuffer), asked: asked, message: message}
}

func (p *player) play(steps []step) {
	for _, s := range steps {
		if !s.when.holds(p.asked) {
			continue
		}
		p.step(s)
		if p.gone || p.ended && s.kind == stepError {
			return
		}
	}
	if !p.ended {
		p.finish("")
	}
	p.flush()
}

func (p *player) step(s step) {
	switch s.kind {
	case stepText:
		p.piece("content", s.text, s.wait)
	case stepReasoning:
		p.piece("reasoning_content", s.text, s.wait)
	case stepRepeat:
		p.repeat(s)
	case stepSleep:
		p.sleep(s.wait)
	case stepTool:
		p.tool(s)
	case stepResult:
		p.result(s)
	case stepUsage:
		p.usage = &s.usage
	case stepFinish:
		p.finish(s.text)
	case stepError:
		p.fault(s.fault)
	case stepDrop:
		p.begin()
		p.flush()
		panic(http.ErrAbortHandler) // the server's own way to break a connection
	case stepHang:
		p.flush()
		<-p.ctx.Done()
		p.gone = true
	case stepRaw:
		p.sleep(s.wait)
		p.begin()
		p.write([]byte(s.text))
	}
}

// repeat sends a piece again and again, with its number in place of {n}.
func (p *player) repeat(s step) {
	before, after, numbered := strings.Cut(s.text, "{n}")
	for i := range p.count(s.count) {
		text := s.text
		if numbered {
			text = before + strconv.Itoa(i+1) + after
		}
		if p.piece("content", text, s.wait); p.gone {
			return
		}
	}
}

// count returns n, or the first number in the message.
func (p *player) count(n int) int {
	if n > 0 {
		return n
	}
	digits := strings.FieldsFunc(p.message, func(r rune) bool { return r < '0' || r > '9' })
	if len(digits) == 0 {
		return 1
	}
	n, err := strconv.Atoi(digits[0])
	if err != nil {
		return maxRepeat
	}
	return min(n, maxRepeat)
}

// begin sends the head of the answer, once.
func (p *player) begin() {
	if p.begun {
		return
	}
	p.begun = true
	p.w.Header().Set("Content-Type", "text/event-stream")
	p.w.Header().Set("Cache-Control", "no-cache")
	p.w.WriteHeader(http.StatusOK)
}

func (p *player) write(b []byte) {
	if p.gone {
		return
	}
	if _, err := p.out.Write(b); err != nil {
		p.gone = true
	}
}

func (p *player) flush() {
	if p.gone || p.out.Buffered() == 0 {
		return
	}
	if p.out.Flush() != nil {
		p.gone = true
		return
	}
	if f, ok := p.w.(http.Flusher); ok {
		f.Flush()
	}
}

// sleep sends what waits and then waits itself.
func (p *player) sleep(d time.Duration) {
	if d <= 0 || p.gone {
		return
	}
	p.flush()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.ctx.Done():
		p.gone = true
	}
}
