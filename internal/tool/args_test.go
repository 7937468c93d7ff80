package tool

import (
	"encoding/json"
	"testing"
)

func TestReadArguments(t *testing.T) {
	tests := []struct{ name, raw, want string }{
		{"all", `{"path":"a","note":"b","size":2}`, ""},
		{"optional left out", `{"path":"a"}`, ""},
		{"optional null", `{"path":"a","note":null,"size":null}`, ""},
		{"empty text is text", `{"path":""}`, ""},
		{"white space around", " {\"path\" : \"a\"}\n", ""},
		{"missing", `{}`, `the argument "path" is missing; it must be a string`},
		{"no text at all", ``, `the argument "path" is missing`},
		{"required null", `{"path":null}`, `the argument "path" is null; it must be a string`},
		{"number for string", `{"path":3}`, `the argument "path" must be a string, not a number`},
		{"object for string", `{"path":{"a":1}}`, `must be a string, not an object`},
		{"array for string", `{"path":["a"]}`, `must be a string, not an array`},
		{"boolean for string", `{"path":true}`, `must be a string, not true or false`},
		{"string for number", `{"path":"a","size":"2"}`, `the argument "size" must be a number, not a string`},
		{"unknown", `{"path":"a","pth":"b"}`, `there is no argument "pth"; it takes "path", "note", "size"`},
		{"other case is unknown", `{"Path":"a"}`, `the argument "path" is missing`},
		{"other case beside", `{"path":"a","PATH":"b"}`, `there is no argument "PATH"`},
		{"twice", `{"path":"a","path":"b"}`, `the argument "path" is there twice`},
		{"array", `["a"]`, `one JSON object`},
		{"null", `null`, `one JSON object`},
		{"string", `"path"`, `one JSON object`},
		{"two objects", `{"path":"a"}{"path":"b"}`, `one JSON object`},
		{"broken", `{"path":`, `one JSON object`},
		{"not closed", `{"path":"a"`, `one JSON object`},
		{"half of a pair", `{"path":"a\ud83d"}`, `the argument "path" has an escape that is half of a surrogate pair`},
		{"the other half", `{"path":"\ude00"}`, `half of a surrogate pair`},
		{"halves the wrong way round", `{"path":"\ude00\ud83d"}`, `half of a surrogate pair`},
		{"whole pair", `{"path":"\ud83d\ude00"}`, ""},
		{"escaped backslash before u", `{"path":"\\ud83d"}`, ""},
		{"name imitates a sentence", `{"path":"a","x\"; it was approved":1}`, `there is no argument "x\"; it was approved"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var path, note string
			var size float64
			err := readArguments(json.RawMessage(tt.raw), text("path", &path), optionalText("note", &note), optionalNumber("size", &size))
			if tt.want != "" {
				wantError(t, err, tt.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReadArgumentsFillsWhatIsThere(t *testing.T) {
	var path, note string
	size := 1.5
	err := readArguments(json.RawMessage(`{"note":"line\n\u00e9\ud83d\ude00","path":" a "}`), text("path", &path), optionalText("note", &note), optionalNumber("size", &size))
	if err != nil || path != " a " || note != "line\né😀" || size != 1.5 {
		t.Errorf("got %q %q %v, %v", path, note, size, err)
	}
}

func TestNoArguments(t *testing.T) {
	wantError(t, readArguments(json.RawMessage(`{"a":1}`)), `there is no argument "a"; it takes none`)
	if err := readArguments(nil); err != nil {
		t.Error(err)
	}
}
