package config

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

var durationType = reflect.TypeFor[time.Duration]()

// parse reads a value as one would write it in the file, in a variable or on
// the command line. Empty text means "not set" for everything but text. A list
// is written with commas.
func (k Key) parse(field reflect.Value, text string) error {
	unset := text == "" && k.Default == ""
	if len(k.Choices) > 0 && !unset && !slices.Contains(k.Choices, text) {
		return fmt.Errorf("want one of %s, got %q", strings.Join(k.Choices, ", "), text)
	}
	if k.typ.Kind() == reflect.Pointer {
		return k.parsePointer(field, text)
	}
	return k.parseValue(field, text)
}

func (k Key) parsePointer(field reflect.Value, text string) error {
	if text == "" {
		field.SetZero()
		return nil
	}
	v := reflect.New(k.typ.Elem())
	if err := k.parseValue(v.Elem(), text); err != nil {
		return err
	}
	field.Set(v)
	return nil
}

func (k Key) parseValue(v reflect.Value, text string) error {
	switch {
	case v.Type() == durationType:
		return k.parseDuration(v, text)
	case v.Kind() == reflect.String:
		v.SetString(text)
		return nil
	case v.Kind() == reflect.Slice:
		v.Set(reflect.ValueOf(splitList(text)))
		return nil
	case v.Kind() == reflect.Bool:
		return parseBool(v, text)
	case v.Kind() == reflect.Float64:
		return k.parseFloat(v, text)
	default:
		return k.parseInt(v, text)
	}
}

func (k Key) parseDuration(v reflect.Value, text string) error {
	d, err := time.ParseDuration(text)
	if err != nil {
		return fmt.Errorf("want a duration such as 15s or 2m, got %q", text)
	}
	low, _ := time.ParseDuration(k.Min)
	high, _ := time.ParseDuration(k.Max)
	if d < low || d > high {
		return fmt.Errorf("want %s to %s, got %s", k.Min, k.Max, text)
	}
	v.SetInt(int64(d))
	return nil
}

func (k Key) parseFloat(v reflect.Value, text string) error {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf("want a number, got %q", text)
	}
	low, _ := strconv.ParseFloat(k.Min, 64)
	high, _ := strconv.ParseFloat(k.Max, 64)
	// Written so that NaN, which compares with nothing, is refused.
	if !(f >= low && f <= high) {
		return fmt.Errorf("want %s to %s, got %s", k.Min, k.Max, text)
	}
	v.SetFloat(f)
	return nil
}

func (k Key) parseInt(v reflect.Value, text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("want a whole number, got %q", text)
	}
	low, _ := strconv.ParseInt(k.Min, 10, 64)
	high, _ := strconv.ParseInt(k.Max, 10, 64)
	if n < low || n > high {
		return fmt.Errorf("want %s to %s, got %s", k.Min, k.Max, text)
	}
	v.SetInt(n)
	return nil
}

func parseBool(v reflect.Value, text string) error {
	if text != "true" && text != "false" {
		return fmt.Errorf("want true or false, got %q", text)
	}
	v.SetBool(text == "true")
	return nil
}

func splitList(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// format is the inverse of parse.
func format(v reflect.Value) string {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return ""
		}
		v = v.Elem()
	}
	switch x := v.Interface().(type) {
	case time.Duration:
		return shortDuration(x)
	case []string:
		return strings.Join(x, ", ")
	default:
		return fmt.Sprint(x)
	}
}

// shortDuration writes 2m for 2m0s.
func shortDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
