package openai

import "verbatim/internal/llm"

func (f *frame) readUsage(s *scanner) {
	if s.peek() != '{' {
		s.skip()
		return
	}
	u := &llm.Usage{}
	f.usage = u
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "prompt_tokens":
			u.Input = s.int()
		case "completion_tokens":
			u.Output = s.int()
		case "prompt_cache_hit_tokens":
			u.Cached = max(u.Cached, s.int())
		case "prompt_tokens_details", "completion_tokens_details":
			readUsageDetails(s, u)
		default:
			s.skip()
		}
	}
}

func readUsageDetails(s *scanner, u *llm.Usage) {
	for ok := s.open('{', '}'); ok; ok = s.next('}') {
		switch string(s.key()) {
		case "cached_tokens":
			u.Cached = max(u.Cached, s.int())
		case "reasoning_tokens":
			u.Reasoning = s.int()
		default:
			s.skip()
		}
	}
}
