package openai

import (
	"bytes"

	"verbatim/internal/llm"
)

// calls tells the tool calls of a round apart. Providers share indexes between
// calls, repeat ids or send none at all; so a new id, a new name, or new bytes
// after complete arguments begin a new call.
type calls struct {
	list []*call
	out  []llm.Chunk
}

type call struct {
	number   int // ours
	index    int // the provider's
	id, name string
	args     jsonEnd
	begun    bool // has arguments
	text     joiner
}

// add appends the fragments that t amounts to, to dst.
func (cs *calls) add(dst []llm.Chunk, t *toolDelta) []llm.Chunk {
	cs.out = dst
	id, name := plain(t.id), plain(t.name)
	c := cs.find(t, id)
	switch {
	case c == nil || c.differs(id, name):
		c = cs.open(t, id, name)
	case c.args.done && opensObject(t.args):
		if name == "" {
			name = c.name
		}
		c = cs.open(t, id, name)
	default:
		cs.rename(c, id, name)
	}
	cs.write(c, t.args)
	return cs.out
}

// find returns the call that t seems to go on with, or nil.
func (cs *calls) find(t *toolDelta, id string) *call {
	var byIndex *call
	for i := len(cs.list) - 1; i >= 0; i-- {
		c := cs.list[i]
		if t.hasIndex && c.index != t.index {
			continue
		}
		if id != "" && c.id == id {
			return c
		}
		if byIndex == nil {
			byIndex = c
		}
	}
	return byIndex
}

// differs reports whether a fragment with this id and name is of another call.
func (c *call) differs(id, name string) bool {
	if id != "" && c.id != "" && id != c.id {
		return true
	}
	sameID := id != "" && id == c.id
	return name != "" && c.name != "" && name != c.name && (c.begun || !sameID)
}

// opensObject reports whether args begin an object.
func opensObject(args []byte) bool {
	args = bytes.TrimLeft(args, " \t\r\n")
	return len(args) > 0 && args[0] == '{'
}

func (cs *calls) open(t *toolDelta, id, name string) *call {
	c := &call{number: len(cs.list), index: t.index, id: id, name: name}
	if !t.hasIndex {
		c.index = c.number
	}
	cs.list = append(cs.list, c)
	cs.emit(llm.ToolFragment{Index: c.number, ID: id, Name: name})
	return c
}

func (cs *calls) rename(c *call, id, name string) {
	news := llm.ToolFragment{Index: c.number}
	if id != "" && id != c.id {
		c.id, news.ID = id, id
	}
	if name != "" && name != c.name {
		c.name, news.Name = name, name
	}
	if news.ID != "" || news.Name != "" {
		cs.emit(news)
	}
}

// write adds arguments, and begins another call of the same name where a
// complete object is followed by the beginning of the next.
func (cs *calls) write(c *call, args []byte) {
	for {
		n := c.args.scan(args)
		if !opensObject(args[n:]) {
			cs.args(c, args)
			return
		}
		cs.args(c, args[:n])
		c = cs.open(&toolDelta{index: c.index, hasIndex: true}, "", c.name)
		args = args[n:]
	}
}

func (cs *calls) args(c *call, args []byte) {
	if len(args) == 0 {
		return
	}
	c.begun = true
	if text := c.text.add(args); text != "" {
		cs.emit(llm.ToolFragment{Index: c.number, Args: text})
	}
}

// end appends what stands for cut characters at the end of arguments.
func (cs *calls) end(dst []llm.Chunk) []llm.Chunk {
	cs.out = dst
	for i, c := range cs.list {
		if text := c.text.end(); text != "" {
			cs.emit(llm.ToolFragment{Index: i, Args: text})
		}
	}
	return cs.out
}

// emit adds a fragment, to the one before if that is of the same call and has
// no arguments yet.
func (cs *calls) emit(f llm.ToolFragment) {
	if n := len(cs.out); n > 0 && f.ID == "" && f.Name == "" {
		if last := cs.out[n-1].Tool; last != nil && last.Index == f.Index && last.Args == "" {
			last.Args = f.Args
			return
		}
	}
	cs.out = append(cs.out, llm.Chunk{Tool: &f})
}

// jsonEnd finds where a JSON object or array that comes in pieces is complete.
type jsonEnd struct {
	depth            int
	inString, escape bool
	done             bool
}

// scan goes over b and returns how many of its bytes belong to the value: all
// of them while it is not complete.
func (j *jsonEnd) scan(b []byte) int {
	if j.done {
		return 0
	}
	for i, c := range b {
		switch {
		case j.escape:
			j.escape = false
		case j.inString:
			j.escape = c == '\\'
			j.inString = c != '"'
		case c == '"':
			j.inString = true
		case c == '{' || c == '[':
			j.depth++
		case c == '}' || c == ']':
			if j.depth--; j.depth <= 0 {
				j.done = true
				return i + 1
			}
		}
	}
	return len(b)
}
