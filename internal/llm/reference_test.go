package llm

import (
	"regexp"
	"strings"
)

var (
	openTag   = regexp.MustCompile(`(?i)^<(think|thinking|reasoning)>`)
	closeTag  = regexp.MustCompile(`(?i)</(think|thinking|reasoning)>`)
	fenceHead = regexp.MustCompile("^[ \t\r>]*$")
	listHead  = regexp.MustCompile("^[ \t\r>*+.)0-9-]*$")
	runOf     = regexp.MustCompile("^(`+|~+)")
)

// reference sorts a whole content. It works on what it has of the answer so
// far, which it looks at anew for each character, and is slow.
func reference(content string) sorted {
	var s sorted
	code := "" // the answer, with a mark where a tag stood
	for content != "" {
		if content[0] == '<' {
			if tag := openTag.FindString(content); tag != "" && !insideCode(code) {
				content = content[len(tag):]
				end := closeTag.FindStringIndex(content)
				if end == nil {
					s.Reasoning += content
					return s
				}
				s.Reasoning += content[:end[0]]
				content = content[end[1]:]
				code += "\x00"
				continue
			}
		}
		s.Text += content[:1]
		if content[0] == 0 {
			code += "\x01" // as good as any other character
		} else {
			code += content[:1]
		}
		content = content[1:]
	}
	return s
}

// insideCode reports whether what follows text is in a code span or a fence.
func insideCode(text string) bool {
	fenceRun, span := "", ""
	lines := strings.Split(text, "\n")
	for number, line := range lines {
		last := number == len(lines)-1
		switch {
		case fenceRun != "":
			if closes(line, fenceRun) && !last {
				fenceRun = ""
			}
		case !last && strings.Trim(unmarked(line), " \t\r") == "":
			span = ""
		default:
			fenceRun, span = lineOf(line, span)
		}
	}
	return fenceRun != "" || span != ""
}

// unmarked drops the marks of the tags: they are no characters of a line.
func unmarked(line string) string { return strings.ReplaceAll(line, "\x00", "") }

// closes reports whether a line closes the fence.
func closes(line, fenceRun string) bool {
	i := strings.Index(line, fenceRun)
	if i < 0 || !fenceHead.MatchString(line[:i]) {
		return false
	}
	rest := strings.TrimLeft(line[i:], fenceRun[:1])
	return strings.Trim(rest, " \t\r") == ""
}

// lineOf goes over a line outside of a fence.
func lineOf(line, span string) (fenceRun, spanAfter string) {
	head := ""
	for line != "" {
		run := runOf.FindString(line)
		atHead := listHead.MatchString(unmarked(head))
		switch {
		case run == "" && line[0] == '\\' && span == "" && len(line) > 1 && line[1] != 0:
			head, line = head+line[:2], line[2:]
			continue
		case run == "":
			head, line = head+line[:1], line[1:]
			continue
		}
		head, line = head+run, line[len(run):]
		tick := run[0] == '`'
		switch {
		case tick && span == run:
			span = ""
		case atHead && len(run) >= 3:
			if !tick || !strings.Contains(line, "`") {
				return run, ""
			}
			span = run
		case tick && span == "":
			span = run
		}
	}
	return "", span
}
