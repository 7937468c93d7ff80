package event

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
	"time"
)

// Field is a member of a payload.
type Field struct {
	Name string
	// Type is the JSON type: string, integer, number, boolean, time, object,
	// array or any.
	Type string
	// Optional fields are left out where they say nothing.
	Optional bool
	// Fields are the members of an object or of an array's elements.
	Fields []Field
}

// Fields returns the members of the kind's payload in the order they are
// written.
func (s Spec) Fields() []Field { return fieldsOf(s.payload) }

func fieldsOf(t reflect.Type) []Field {
	var fields []Field
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		typ, inner := typeOf(f.Type)
		fields = append(fields, Field{Name: name, Type: typ, Optional: strings.HasPrefix(options, "omit"), Fields: inner})
	}
	return fields
}

func typeOf(t reflect.Type) (string, []Field) {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "time", nil
	case reflect.TypeFor[json.RawMessage]():
		return "any", nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeOf(t.Elem())
	case reflect.String:
		return "string", nil
	case reflect.Bool:
		return "boolean", nil
	case reflect.Float64:
		return "number", nil
	case reflect.Slice:
		return "array", fieldsOf(t.Elem())
	case reflect.Struct:
		return "object", fieldsOf(t)
	}
	return "integer", nil
}

// WriteReference writes the kinds, their payloads and an example of each as
// Markdown, for the reference page.
func WriteReference(w io.Writer) error {
	for _, s := range specs {
		if err := s.writeReference(w); err != nil {
			return err
		}
	}
	return nil
}

func (s Spec) writeReference(w io.Writer) error {
	example, err := Encode(s.Samples[0])
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "#### `%s`\n\n%s %s\n\n%s\n\n```json\n%s\n```\n\n",
		s.Kind, s.Doc, s.nature(), describe(s.Fields()), example)
	return err
}

func (s Spec) nature() string {
	switch {
	case s.Terminal:
		return "It ends its run."
	case s.Run:
		return "It belongs to a run."
	}
	return "It is a fact about the conversation."
}

func describe(fields []Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = "`" + f.Name + "` " + f.Type
		if f.Optional {
			parts[i] += "?"
		}
		if len(f.Fields) > 0 {
			parts[i] += " {" + describe(f.Fields) + "}"
		}
	}
	return strings.Join(parts, ", ")
}
