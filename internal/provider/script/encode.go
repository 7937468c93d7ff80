package script

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"verbatim/internal/event"
)

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
	b = event.AppendString(b, p.asked.Model)
	b = append(b, ',')
	p.line = append(body(b), "}\n\n"...)
	p.write(p.line)
}
