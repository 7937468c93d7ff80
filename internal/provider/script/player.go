package script

import (
	"bufio"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"verbatim/internal/event"
)

const playBuffer = 16 << 10

// player sends the steps of one round as a stream. What needs no waiting is
// sent together.
type player struct {
	ctx     context.Context
	w       http.ResponseWriter
	out     *bufio.Writer
	line    []byte
	model   string
	message string

	begun bool
	// gone: the client is, or the script dropped it.
	gone   bool
	pieces int64
	tools  int
	usage  *usageStep
	ended  bool
}

func newPlayer(ctx context.Context, w http.ResponseWriter, model, message string) *player {
	return &player{ctx: ctx, w: w, out: bufio.NewWriterSize(w, playBuffer), model: model, message: message}
}

func (p *player) play(steps []step) {
	for _, s := range steps {
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

func (p *player) piece(field, text string, wait time.Duration) {
	p.sleep(wait)
	p.pieces++
	p.chunk(func(b []byte) []byte {
		b = append(b, `{"`...)
		b = append(b, field...)
		b = append(b, `":`...)
		b = event.AppendString(b, text)
		return append(b, '}')
	})
}

func (p *player) tool(s step) {
	index := s.tool.index
	if index < 0 {
		index = p.tools
	}
	id := s.tool.id
	if id == "" {
		id = "call_" + strconv.Itoa(p.tools)
	}
	p.tools++
	p.sleep(s.wait)
	p.pieces++
	p.chunk(func(b []byte) []byte {
		b = append(b, `{"tool_calls":[{"index":`...)
		b = strconv.AppendInt(b, int64(index), 10)
		b = append(b, `,"id":`...)
		b = event.AppendString(b, id)
		b = append(b, `,"type":"function","function":{"name":`...)
		b = event.AppendString(b, s.tool.name)
		return append(b, `,"arguments":""}}]}`...)
	})
	for _, args := range pieces(s.text, argsSize(s)) {
		p.toolArgs(index, args, s.wait)
	}
}

// argsSize is the characters of one piece of a call's arguments.
func argsSize(s step) int {
	if s.tool.size > 0 {
		return s.tool.size
	}
	return max(1, utf8.RuneCountInString(s.text))
}

func (p *player) toolArgs(index int, args string, wait time.Duration) {
	p.sleep(wait)
	p.chunk(func(b []byte) []byte {
		b = append(b, `{"tool_calls":[{"index":`...)
		b = strconv.AppendInt(b, int64(index), 10)
		b = append(b, `,"function":{"arguments":`...)
		b = event.AppendString(b, args)
		return append(b, `}}]}`...)
	})
}

// finish ends the answer. reason is the provider's word, empty for what fits,
// or none to end the stream without a word.
func (p *player) finish(reason string) {
	p.ended = true
	if reason == "none" {
		p.begin()
		return
	}
	if reason == "" {
		reason = "stop"
		if p.tools > 0 {
			reason = "tool_calls"
		}
	}
	p.begin()
	p.data(func(b []byte) []byte {
		b = append(b, `"choices":[{"index":0,"delta":{},"finish_reason":`...)
		b = event.AppendString(b, reason)
		return append(b, `}]`...)
	})
	p.writeUsage()
	p.write([]byte("data: [DONE]\n\n"))
}

// writeUsage sends what the script says, or else a count of the pieces sent and
// of the words of the message.
func (p *player) writeUsage() {
	u := p.usage
	if u == nil {
		u = &usageStep{input: int64(len(strings.Fields(p.message))), output: p.pieces}
	}
	if u.none {
		return
	}
	p.data(func(b []byte) []byte {
		b = append(b, `"choices":[],"usage":{"prompt_tokens":`...)
		b = strconv.AppendInt(b, u.input, 10)
		b = append(b, `,"completion_tokens":`...)
		b = strconv.AppendInt(b, u.output, 10)
		b = append(b, `,"total_tokens":`...)
		b = strconv.AppendInt(b, u.input+u.output, 10)
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = strconv.AppendInt(b, u.cached, 10)
		b = append(b, `},"completion_tokens_details":{"reasoning_tokens":`...)
		b = strconv.AppendInt(b, u.reasoning, 10)
		return append(b, `}}`...)
	})
}

// fault answers with an error status or, once the stream has begun, with an
// error inside it.
func (p *player) fault(f faultStep) {
	p.ended = true
	if !p.begun {
		writeFault(p.w, f)
		return
	}
	p.write(append(appendFault([]byte("data: "), f), "\n\n"...))
	p.flush()
}

func (p *player) chunk(delta func([]byte) []byte) {
	p.begin()
	p.data(func(b []byte) []byte {
		b = append(b, `"choices":[{"index":0,"delta":`...)
		b = delta(b)
		return append(b, `,"finish_reason":null}]`...)
	})
}

func (p *player) data(body func([]byte) []byte) {
	b := append(p.line[:0], `data: {"id":"script","object":"chat.completion.chunk","created":0,"model":`...)
	b = event.AppendString(b, p.model)
	b = append(b, ',')
	p.line = append(body(b), "}\n\n"...)
	p.write(p.line)
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
