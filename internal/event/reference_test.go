package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsAreWhatIsWritten(t *testing.T) {
	for _, s := range Specs() {
		for _, sample := range s.Samples {
			var members map[string]json.RawMessage
			if err := json.Unmarshal(mustEncode(t, sample), &members); err != nil {
				t.Fatal(err)
			}
			for _, f := range s.Fields() {
				if _, ok := members[f.Name]; !ok && !f.Optional {
					t.Errorf("%s: %s is listed and not written", s.Kind, f.Name)
				}
				delete(members, f.Name)
			}
			for name := range members {
				t.Errorf("%s: %s is written and not listed", s.Kind, name)
			}
		}
	}
}

func TestFieldTypes(t *testing.T) {
	spec, _ := Lookup("user_message")
	want := []Field{
		{Name: "message_id", Type: "string"}, {Name: "text", Type: "string"},
		{Name: "attachments", Type: "array", Optional: true, Fields: []Field{
			{Name: "id", Type: "string"}, {Name: "name", Type: "string"}, {Name: "mime", Type: "string"},
			{Name: "size", Type: "integer"}, {Name: "blob", Type: "string"},
		}},
		{Name: "client_id", Type: "string", Optional: true},
		{Name: "via", Type: "object", Fields: []Field{
			{Name: "surface", Type: "string"}, {Name: "device", Type: "string", Optional: true}, {Name: "sender", Type: "string", Optional: true},
		}},
	}
	if diff := cmp.Diff(want, spec.Fields()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReferenceNamesEveryKind(t *testing.T) {
	var b bytes.Buffer
	if err := WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	for _, s := range Specs() {
		if strings.Count(b.String(), "\n#### `"+string(s.Kind)+"`\n")+strings.Count(b.String()[:40], "#### `"+string(s.Kind)+"`\n") != 1 {
			t.Errorf("%s has not one heading", s.Kind)
		}
	}
	if err := WriteReference(brokenWriter{}); err == nil {
		t.Error("a writer's error is lost")
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
