package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// SettingStore keeps settings: a line of JSON a key.
type SettingStore interface {
	// Settings returns all that are set.
	Settings(ctx context.Context) (map[string]string, error)
	// SetSettings stores values as one unit; a nil value removes the key.
	SetSettings(ctx context.Context, changes map[string]*string) error
}

// Settings are the choices that people make while the program runs. A change
// counts from the next request on. Safe for concurrent use if the store is.
type Settings struct {
	Store SettingStore
	// Defaults are the configured values, reported for keys that are not
	// set.
	Defaults map[string]any
}

// Get returns every setting with its value. A secret is never returned: KEY_set
// says whether there is one.
func (s *Settings) Get(ctx context.Context) (map[string]any, error) {
	set, err := s.Values(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for _, spec := range SettingTable() {
		v, ok := set[spec.Key]
		configured := s.configured(spec)
		switch {
		case spec.Secret:
			d, _ := configured.(string)
			out[spec.Key+"_set"] = ok || d != ""
		case ok:
			out[spec.Key] = v
		default:
			out[spec.Key] = configured
		}
	}
	return out, nil
}

// configured is a setting's value where nobody has set it.
func (s *Settings) configured(spec SettingSpec) any {
	if v, ok := s.Defaults[spec.Key]; ok && !isNil(v) {
		return v
	}
	return spec.Default
}

// isNil also knows pointers without a value.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// Value reads one setting that is not a secret into v, which is a pointer.
func (s *Settings) Value(ctx context.Context, key string, v any) error {
	all, err := s.Get(ctx)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(all[key])
	if err != nil {
		return fmt.Errorf("setting %s: %w", key, err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("setting %s: %w", key, err)
	}
	return nil
}

// Schema returns the table of settings with the defaults of this process.
// Secrets have none.
func (s *Settings) Schema() []SettingSpec {
	table := SettingTable()
	for i := range table {
		table[i].Default = s.configured(table[i])
		if table[i].Secret {
			table[i].Default = nil
		}
	}
	return table
}

// Values returns what is set, secrets too, for the program's own use.
func (s *Settings) Values(ctx context.Context) (map[string]json.RawMessage, error) {
	set, err := s.Store.Settings(ctx)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	values := make(map[string]json.RawMessage, len(set))
	for key, v := range set {
		values[key] = json.RawMessage(v)
	}
	return values, nil
}

// Set changes settings, all or none. null takes a key back to its default. An
// unknown key or a value that makes no sense is refused as Invalid.
func (s *Settings) Set(ctx context.Context, patch map[string]json.RawMessage) error {
	changes := make(map[string]*string, len(patch))
	for key, v := range patch {
		spec, ok := settingOf(key)
		if !ok {
			return refuse(Invalid, "There is no setting %q.", key)
		}
		if isNull(v) {
			changes[key] = nil
			continue
		}
		if want := spec.wrong(v); want != "" {
			return refuse(Invalid, "The setting %s must be %s.", key, want)
		}
		changes[key] = new(string(v))
	}
	if err := s.Store.SetSettings(ctx, changes); err != nil {
		return fmt.Errorf("store settings: %w", err)
	}
	return nil
}

func isNull(v json.RawMessage) bool {
	return len(v) == 0 || bytes.Equal(bytes.TrimSpace(v), []byte("null"))
}

func settingOf(key string) (SettingSpec, bool) {
	for _, spec := range SettingTable() {
		if spec.Key == key {
			return spec, true
		}
	}
	return SettingSpec{}, false
}

// wrong returns what a value should have been, empty when it is right.
func (spec SettingSpec) wrong(v json.RawMessage) string {
	switch spec.Type {
	case "boolean":
		return wrongUnless(isA[bool](v), "true or false")
	case "number":
		return spec.wrongNumber(v)
	case "integer":
		if !isA[int64](v) {
			return fmt.Sprintf("a whole number from %.0f to %.0f", *spec.Min, *spec.Max)
		}
		return spec.wrongNumber(v)
	}
	return spec.wrongText(v)
}

func wrongUnless(right bool, want string) string {
	if right {
		return ""
	}
	return want
}

func isA[T any](v json.RawMessage) bool {
	var x T
	return json.Unmarshal(v, &x) == nil
}

func (spec SettingSpec) wrongNumber(v json.RawMessage) string {
	var n float64
	right := json.Unmarshal(v, &n) == nil && n >= *spec.Min && n <= *spec.Max
	return wrongUnless(right, fmt.Sprintf("a number from %s to %s", plain(*spec.Min), plain(*spec.Max)))
}

func plain(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

func (spec SettingSpec) wrongText(v json.RawMessage) string {
	var s string
	isText := json.Unmarshal(v, &s) == nil
	switch {
	case len(spec.OneOf) > 0:
		return wrongUnless(isText && slices.Contains(spec.OneOf, s), "one of "+strings.Join(spec.OneOf, ", "))
	case spec.address && isText && s != "" && !strings.HasPrefix(s, "http://") && !strings.HasPrefix(s, "https://"):
		return "an http or https address"
	}
	return wrongUnless(isText && len(s) <= spec.MaxBytes, fmt.Sprintf("text of at most %d bytes", spec.MaxBytes))
}
