package tool

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
)

// How long a pattern may be, and how many steps it may have once compiled. A
// line can't be left in the middle when the call is stopped, and the time for
// one grows with both.
const (
	maxPatternBytes = 1000
	maxPatternSteps = 1200
)

var (
	errNoPattern   = errors.New("the pattern is empty; list_directory shows what is there")
	errLongPattern = fmt.Errorf("the pattern has more than %d bytes; search for a part of it", maxPatternBytes)
	errBigPattern  = errors.New("the pattern repeats too much; use smaller counts")
)

// pattern is what search_files looks for.
type pattern struct {
	re *regexp.Regexp
	// literal says that the text was no regular expression and is taken as it
	// is.
	literal bool
	// glob, if not empty, is compared with the names of files.
	glob string
}

// newPattern reads a pattern. The error is a sentence for the model.
func newPattern(s string) (pattern, error) {
	switch {
	case s == "":
		return pattern{}, errNoPattern
	case len(s) > maxPatternBytes:
		return pattern{}, errLongPattern
	}
	p := pattern{}
	re, err := regexp.Compile(s)
	if err != nil {
		re, p.literal = regexp.MustCompile(regexp.QuoteMeta(s)), true
	}
	if steps(re) > maxPatternSteps {
		return pattern{}, errBigPattern
	}
	p.re = re
	if _, err := path.Match(s, ""); err == nil && strings.ContainsAny(s, "*?[") {
		p.glob = s
	}
	return p, nil
}

// steps returns the length of an expression once compiled.
func steps(re *regexp.Regexp) int {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return 0
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0
	}
	return len(prog.Inst)
}

// matchesName compares a file's path with the expression, and its name with the
// glob.
func (p pattern) matchesName(file string) bool {
	if p.glob != "" {
		if ok, _ := path.Match(p.glob, path.Base(file)); ok {
			return true
		}
		if ok, _ := path.Match(p.glob, file); ok {
			return true
		}
	}
	return p.re.MatchString(file)
}
