package openai

// problem is an error object of the provider.
type problem struct {
	message, kind, code string
	status              int
}

// readProblem reads an error: an object, or only its message; null is none.
func (f *frame) readProblem(s *scanner) {
	switch s.peek() {
	case '"':
		f.problem = &problem{message: plain(s.text(nil))}
	case '{':
		p := &problem{}
		f.problem = p
		for ok := s.open('{', '}'); ok; ok = s.next('}') {
			switch string(s.key()) {
			case "message":
				p.message = plain(s.text(nil))
			case "type":
				p.kind = string(s.text(nil))
			case "code":
				p.readCode(s)
			default:
				s.skip()
			}
		}
	default:
		s.skip()
	}
}

// readCode reads a code: a word, or a number that is an HTTP status.
func (p *problem) readCode(s *scanner) {
	if s.peek() == '"' {
		p.code = string(s.text(nil))
		return
	}
	p.status = int(s.int())
}
