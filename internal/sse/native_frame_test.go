package sse

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"verbatim/internal/event"
)

// TestNoSurfaceGetsWhatIsTheProviders goes over every kind that there is: one
// that gets such a member later is found too.
func TestNoSurfaceGetsWhatIsTheProviders(t *testing.T) {
	had := 0
	for _, spec := range event.Specs() {
		for i, sample := range spec.Samples {
			t.Run(fmt.Sprintf("%s %d", spec.Kind, i), func(t *testing.T) {
				r := recordOf(t, sample)
				stored := string(r.Body)
				frame, err := appendNative(nil, testEpoch, r)
				if err != nil {
					t.Fatal(err)
				}
				got := members(t, dataOf(string(frame)))
				if _, there := got[providerMember]; there {
					t.Errorf("a surface gets %s", frame)
				}
				want := members(t, string(r.AppendJSON(nil)))
				if _, there := want[providerMember]; there {
					had++
					delete(want, providerMember)
				}
				for name, value := range want {
					if got[name] != value {
						t.Errorf("%s is %s, want %s", name, got[name], value)
					}
				}
				if len(got) != len(want) {
					t.Errorf("%d members, want %d", len(got), len(want))
				}
				if string(r.Body) != stored {
					t.Errorf("the stored payload was changed to %s", r.Body)
				}
			})
		}
	}
	if had < 2 {
		t.Errorf("%d samples have something of a provider's, the test shows little", had)
	}
}

func TestPublicBody(t *testing.T) {
	segmentEnd, toolCall := event.SegmentEnd{}.Kind(), event.ToolCall{}.Kind()
	tests := []struct {
		name       string
		kind       event.Kind
		body, want string
	}{
		{"in the middle", toolCall, `{"a":1,"provider":{"x":[1,2]},"b":2}`, `{"a":1,"b":2}`},
		{"first", toolCall, `{"provider":"x","b":2}`, `{"b":2}`},
		{"last", segmentEnd, `{"b":2,"provider":null}`, `{"b":2}`},
		{"alone", segmentEnd, `{"provider":{}}`, `{}`},
		{"twice", segmentEnd, `{"provider":1,"a":0,"provider":2}`, `{"a":0}`},
		{"in another case", toolCall, `{"Provider":1,"a":0}`, `{"a":0}`},
		{"with an escape", toolCall, `{"provide\u0072":1,"a":0}`, `{"a":0}`},
		{"further in", toolCall, `{"args":{"provider":1},"args_text":"\"provider\": 2"}`, `{"args":{"provider":1},"args_text":"\"provider\": 2"}`},
		{"none", toolCall, `{"a":1.50}`, `{"a":1.50}`},
		{"the rest byte for byte", toolCall, `{"a":1.50e+1 ,"provider":1, "\u0062":"\u00e9\/","c":{ "d":[ ]}}`, `{"a":1.50e+1,"\u0062":"\u00e9\/","c":{ "d":[ ]}}`},
		{"another kind's", "of_tomorrow", `{"provider":1}`, `{"provider":1}`},
		{"line breaks", "of_tomorrow", "{\"a\":\r\n \"\\n\",\n\"b\":1.0}", `{"a":"\n","b":1.0}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := publicBody(tt.kind, json.RawMessage(tt.body))
			if err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestPublicBodyRefusesWhatIsDamaged(t *testing.T) {
	for _, body := range []string{``, `[]`, `null`, `{"provider"`, `{"provider":`, `{"a":1,"provider":2`, "{\n"} {
		if got, err := publicBody(event.ToolCall{}.Kind(), json.RawMessage(body)); err == nil {
			t.Errorf("%q gives %s", body, got)
		} else if strings.Contains(err.Error(), "provider") {
			t.Errorf("%q: the error tells the payload: %v", body, err)
		}
	}
	before := []byte("before")
	b, err := appendNative(before, testEpoch, event.Record{Kind: event.ToolCall{}.Kind(), Body: json.RawMessage(`{"a":`)})
	if err == nil || string(b) != "before" {
		t.Errorf("got %q, %v", b, err)
	}
}

func recordOf(t *testing.T, e event.Event) event.Record {
	t.Helper()
	r, err := event.NewRecord(testConversation, "", "", e)
	if err != nil {
		t.Fatal(err)
	}
	r.Seq = 7
	if spec, _ := event.Lookup(e.Kind()); spec.Run {
		r.Run, r.Message = testRun, testMessage
	}
	return r
}

func members(t *testing.T, object string) map[string]string {
	t.Helper()
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &raw); err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for name, value := range raw {
		m[name] = string(value)
	}
	return m
}

// dataOf returns the data of a frame, which must have one line of it.
func dataOf(frame string) string {
	lines := strings.Split(frame, "\n")
	i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "data: ") })
	return strings.TrimPrefix(lines[max(i, 0)], "data: ")
}
