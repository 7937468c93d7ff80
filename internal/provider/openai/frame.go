package openai

import "verbatim/internal/llm"

// frame is what one event of the stream says, before it is put in order with
// what came before. Its slices are reused from event to event.
type frame struct {
	content   []byte
	refusal   []byte
	reasoning [3][]byte // by spelling: reasoning_content, reasoning, the rest
	tools     []toolDelta
	finish    []byte
	usage     *llm.Usage
	problem   *problem
	// top is the error that the event is if isProblem is set.
	top       problem
	isProblem bool
	bad       bool
}

// toolDelta is an entry of tool_calls.
type toolDelta struct {
	index    int
	hasIndex bool
	id, name []byte
	args     []byte
}

func (f *frame) reset() {
	*f = frame{
		content: f.content[:0], refusal: f.refusal[:0], finish: f.finish[:0],
		reasoning: [3][]byte{f.reasoning[0][:0], f.reasoning[1][:0], f.reasoning[2][:0]},
		tools:     f.tools[:0],
	}
}

// parse reads one event. whole means that the body is an answer in one piece,
// where a message stands in place of a delta.
// isProblem says that the event as a whole is known to be an error.
func (f *frame) parse(data []byte, whole, isProblem bool) {
	f.reset()
	f.isProblem = isProblem
	s := scanner{b: data}
	if s.peek() != '{' {
		f.bad = true
		return
	}
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "choices":
			for ok := s.open('[', ']'); ok; ok = s.next(']') {
				f.choice(&s, whole)
			}
		case "usage":
			f.readUsage(&s)
		case "error":
			f.readProblem(&s)
		case "object":
			f.isProblem = string(s.raw()) == `"error"` || f.isProblem
		case "message":
			f.top.message = plain(s.text(nil))
		case "type":
			f.top.kind = string(s.text(nil))
		case "code":
			f.top.readCode(&s)
		default:
			s.skip()
		}
	}
	f.bad = s.bad || s.peek() != 0
	if f.isProblem && f.problem == nil {
		f.problem = &f.top
	}
}

// choice reads a choice; only the first is ours.
func (f *frame) choice(s *scanner, whole bool) {
	at := *s
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		if string(s.key()) == "index" {
			if s.int() != 0 {
				*s = at
				s.skip()
				return
			}
			break
		}
		s.skip()
	}
	*s = at
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "delta":
			f.delta(s)
		case "message":
			if !whole {
				s.skip()
				continue
			}
			f.delta(s)
		case "finish_reason":
			f.finish = s.text(f.finish[:0])
		case "error":
			f.readProblem(s)
		default:
			s.skip()
		}
	}
}

func (f *frame) delta(s *scanner) {
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "content":
			f.readContent(s)
		case "refusal":
			f.refusal = s.text(f.refusal[:0])
		case "reasoning_content":
			f.reasoning[0] = s.text(f.reasoning[0][:0])
		case "reasoning":
			f.reasoning[1] = s.text(f.reasoning[1][:0])
		case "reasoning_details":
			f.readDetails(s)
		case "tool_calls":
			for ok := s.open('[', ']'); ok; ok = s.next(']') {
				f.readTool(s)
			}
		case "function_call":
			f.readLegacyCall(s)
		default:
			s.skip()
		}
	}
}

// readContent reads text, or a list of parts whose texts are joined.
func (f *frame) readContent(s *scanner) {
	if s.peek() == '"' {
		f.content = s.text(f.content[:0])
		return
	}
	for ok := s.open('[', ']'); ok; ok = s.next(']') {
		for ok := s.open('{', '}'); ok; ok = s.next('}') {
			switch string(s.key()) {
			case "text":
				f.content = s.text(f.content)
			case "thinking":
				f.readThinking(s)
			default:
				s.skip()
			}
		}
	}
}

// readThinking reads a part's thoughts: text, or again a list of parts.
func (f *frame) readThinking(s *scanner) {
	if s.peek() == '"' {
		f.reasoning[2] = s.text(f.reasoning[2])
		return
	}
	for ok := s.open('[', ']'); ok; ok = s.next(']') {
		f.readDetail(s)
	}
}

func (f *frame) readDetails(s *scanner) {
	for ok := s.open('[', ']'); ok; ok = s.next(']') {
		f.readDetail(s)
	}
}

func (f *frame) readDetail(s *scanner) {
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "text", "summary":
			f.reasoning[2] = s.text(f.reasoning[2])
		default:
			s.skip()
		}
	}
}

func (f *frame) readTool(s *scanner) {
	t := f.tool()
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "index":
			if c := s.peek(); '0' <= c && c <= '9' {
				t.hasIndex = true
			}
			t.index = int(s.int())
		case "id":
			t.id = s.text(t.id)
		case "function":
			t.readFunction(s)
		default:
			s.skip()
		}
	}
}

func (f *frame) readLegacyCall(s *scanner) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	t := f.tool()
	t.hasIndex = true
	t.readFunction(s)
}

// tool returns a new entry, with the memory of an old one.
func (f *frame) tool() *toolDelta {
	if len(f.tools) < cap(f.tools) {
		f.tools = f.tools[:len(f.tools)+1]
	} else {
		f.tools = append(f.tools, toolDelta{})
	}
	t := &f.tools[len(f.tools)-1]
	*t = toolDelta{id: t.id[:0], name: t.name[:0], args: t.args[:0]}
	return t
}

func (t *toolDelta) readFunction(s *scanner) {
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "name":
			t.name = s.text(t.name)
		case "arguments":
			if s.peek() == '{' { // some servers send the object itself
				t.args = append(t.args, s.raw()...)
				continue
			}
			t.args = s.text(t.args)
		default:
			s.skip()
		}
	}
}
