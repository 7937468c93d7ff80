package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// argument is a member of a call's arguments.
type argument struct {
	name     string
	required bool
	// expected is what set takes, for people.
	expected string
	set      func(json.RawMessage) error
}

// text is a string that must be there; it may be empty.
func text(name string, to *string) argument {
	return argument{name: name, required: true, expected: "a string", set: func(raw json.RawMessage) error { return setText(raw, to) }}
}

// optionalText is a string that may be left out.
func optionalText(name string, to *string) argument {
	a := text(name, to)
	a.required = false
	return a
}

// optionalNumber is a number that may be left out.
func optionalNumber(name string, to *float64) argument {
	return argument{name: name, expected: "a number", set: func(raw json.RawMessage) error { return json.Unmarshal(raw, to) }}
}

// readArguments fills the members from the JSON that a model wrote. Members
// that are unknown, missing, of another type or there twice are refused by
// name; null leaves an optional one out. No text at all counts as {}. The error
// is a sentence for the model.
func readArguments(raw json.RawMessage, members ...argument) error {
	values, err := objectOf(raw)
	if err != nil {
		return err
	}
	for _, m := range members {
		value, ok := values[m.name]
		delete(values, m.name)
		if !ok && m.required {
			return fmt.Errorf("the argument %q is missing; it must be %s", m.name, m.expected)
		}
		if !ok || !m.required && string(value) == "null" {
			continue
		}
		if string(value) == "null" {
			return fmt.Errorf("the argument %q is null; it must be %s", m.name, m.expected)
		}
		if err := m.set(value); errors.Is(err, errHalfPair) {
			return fmt.Errorf("the argument %q has %w", m.name, err)
		} else if err != nil {
			return fmt.Errorf("the argument %q must be %s, not %s", m.name, m.expected, kindOfJSON(value))
		}
	}
	return unknownMember(values, members)
}

func unknownMember(left map[string]json.RawMessage, members []argument) error {
	if len(left) == 0 {
		return nil
	}
	names := make([]string, 0, len(left))
	for name := range left {
		names = append(names, name)
	}
	known := "it takes none"
	if len(members) > 0 {
		known = "it takes " + joinNames(members)
	}
	return fmt.Errorf("there is no argument %s; %s", quoted(slices.Min(names), 100), known)
}

func joinNames(members []argument) string {
	var names []string
	for _, m := range members {
		names = append(names, strconv.Quote(m.name))
	}
	return strings.Join(names, ", ")
}

// objectOf splits the members of a JSON object without reading their values.
func objectOf(raw json.RawMessage) (map[string]json.RawMessage, error) {
	values := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(raw)) == 0 {
		return values, nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errNoObject
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, errNoObject
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, errNoObject
		}
		if _, twice := values[name]; twice {
			return nil, fmt.Errorf("the argument %s is there twice", quoted(name, 100))
		}
		values[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, errNoObject
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errNoObject
	}
	return values, nil
}

var (
	errNoObject = errors.New("the arguments must be one JSON object")
	errHalfPair = errors.New("an escape that is half of a surrogate pair, which is no character; write the character itself")
)

func setText(raw json.RawMessage, to *string) error {
	if err := json.Unmarshal(raw, to); err != nil {
		return err
	}
	if hasHalfPair(raw) {
		return errHalfPair
	}
	return nil
}

// hasHalfPair reports whether a JSON string has an escaped surrogate without
// its other half. The standard library makes U+FFFD of it, and a file would get
// other text than was written.
func hasHalfPair(raw []byte) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		high := unitAt(raw, i)
		if high < 0xd800 || high > 0xdfff {
			i++ // what is escaped, which may be a backslash
			continue
		}
		if low := unitAt(raw, i+6); high > 0xdbff || low < 0xdc00 || low > 0xdfff {
			return true
		}
		i += 11
	}
	return false
}

// unitAt returns the UTF-16 unit that is escaped at i, or -1.
func unitAt(raw []byte, i int) int64 {
	if len(raw) < i+6 || raw[i] != '\\' || raw[i+1] != 'u' {
		return -1
	}
	unit, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
	if err != nil {
		return -1
	}
	return int64(unit)
}

func kindOfJSON(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "true or false"
	}
	return "a number"
}
