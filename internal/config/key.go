package config

import (
	"reflect"
	"slices"
	"strings"
)

// Key is one setting, as the tags of Config describe it.
type Key struct {
	// Name is the key in the file.
	Name string
	// Env is its environment variable. Env plus _FILE names a file whose
	// content is the value.
	Env string
	// Flag is its flag on the command line, without the dashes.
	Flag string
	// Doc is one or more sentences for people.
	Doc string
	// Default is the value as one would write it; empty means not set.
	Default string
	// Secret values are never printed.
	Secret bool
	// Choices, Min and Max bound the value; empty means unbounded.
	Choices  []string
	Min, Max string

	index int
	typ   reflect.Type
}

// Keys returns every setting in the order of Config.
func Keys() []Key {
	t := reflect.TypeFor[Config]()
	keys := make([]Key, 0, t.NumField())
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("yaml")
		if name == "-" {
			continue
		}
		keys = append(keys, Key{
			Name:    name,
			Env:     "VERBATIM_" + strings.ToUpper(name),
			Flag:    strings.ReplaceAll(name, "_", "-"),
			Doc:     f.Tag.Get("doc"),
			Default: f.Tag.Get("default"),
			Secret:  f.Tag.Get("secret") == "true",
			Choices: strings.Fields(f.Tag.Get("oneof")),
			Min:     f.Tag.Get("min"),
			Max:     f.Tag.Get("max"),
			index:   i,
			typ:     f.Type,
		})
	}
	return keys
}

func find(keys []Key, name string) (Key, bool) {
	i := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return keys[i], true
}

// Kind says in a word what a value looks like.
func (k Key) Kind() string {
	switch {
	case k.typ == durationType:
		return "duration"
	case k.typ.Kind() == reflect.Slice:
		return "list"
	case k.typ.Kind() == reflect.Bool:
		return "true or false"
	case k.typ.Kind() == reflect.String:
		return "text"
	case k.typ == reflect.TypeFor[*float64]():
		return "number"
	default:
		return "whole number"
	}
}

// Text returns the key's value in c as one would write it; empty when it is not
// set. A secret that is set is shown as ****.
func (k Key) Text(c Config) string {
	text := format(reflect.ValueOf(c).Field(k.index))
	if k.Secret && text != "" {
		return "****"
	}
	return text
}

func (k Key) set(c *Config, text string) error {
	return k.parse(reflect.ValueOf(c).Elem().Field(k.index), text)
}

func (k Key) setList(c *Config, items []string) {
	reflect.ValueOf(c).Elem().Field(k.index).Set(reflect.ValueOf(items))
}

func (k Key) isList() bool { return k.typ.Kind() == reflect.Slice }
