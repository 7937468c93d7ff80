package httpapi

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// query is what stands behind the question mark of an address.
type query struct{ url.Values }

func queryOf(e *entry) query { return query{e.URL.Query()} }

// text returns a value, nil where it is not there. It may be empty.
func (q query) text(name string) (*string, error) {
	values, ok := q.Values[name]
	if !ok {
		return nil, nil
	}
	if len(values) > 1 || !utf8.ValidString(values[0]) {
		return nil, problem(Invalid, "?"+name+"= must be there once, in UTF-8.")
	}
	return &values[0], nil
}

// count returns a number from 1 on, 0 where it is not there.
func (q query) count(name string) (int64, error) {
	s, err := q.text(name)
	if err != nil || s == nil {
		return 0, err
	}
	n, err := strconv.ParseInt(*s, 10, 64)
	if err != nil || n < 1 || strings.IndexFunc(*s, notDigit) >= 0 {
		return 0, problem(Invalid, fmt.Sprintf("?%s= must be a whole number from 1 on.", name))
	}
	return n, nil
}

// limit is count for how many of something are wanted; any number that is too
// large means the most there are.
func (q query) limit() (int, error) {
	n, err := q.count("limit")
	return int(min(n, 1<<20)), err
}

// flag returns a truth, nil where it is not there.
func (q query) flag(name string) (*bool, error) {
	s, err := q.text(name)
	if err != nil || s == nil {
		return nil, err
	}
	switch *s {
	case "true", "1":
		return new(true), nil
	case "false", "0":
		return new(false), nil
	}
	return nil, problem(Invalid, fmt.Sprintf("?%s= must be true or false.", name))
}

// is returns a truth, fallback where it is not there.
func (q query) is(name string, fallback bool) (bool, error) {
	v, err := q.flag(name)
	if v == nil {
		return fallback, err
	}
	return *v, err
}
