package upstream

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestScriptSurvivesItsText(t *testing.T) {
	tests := map[string]Script{
		"paced":    {Tokens: 250, Rate: 50},
		"unpaced":  {Tokens: 1},
		"held":     {Tokens: 10, Gate: "g-1", Hold: 3},
		"end held": {Tokens: 10, Gate: "g-1", End: "g-2"},
		"fraction": {Tokens: 10, Rate: 0.5},
	}
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseScript(want.String())
			if err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestParseScriptRefuses(t *testing.T) {
	for _, text := range []string{"", "hello", "bench tokens=1", "bench tokens=1 rate=0 hold=0 gate=none", "bench tokens=-1 rate=0 hold=0 gate=none end=none", "bench tokens=99999999 rate=0 hold=0 gate=none end=none"} {
		if _, err := ParseScript(text); !errors.Is(err, ErrScript) {
			t.Errorf("%q: got %v, want ErrScript", text, err)
		}
	}
}

func TestReadDecodesWhatTheModelSends(t *testing.T) {
	in := AppendToken(nil, 123, 1)
	in = AppendToken(in, 1_700_000_000_000_000_000, 2)
	in = append(in, Last...)
	var got []string
	err := Read(strings.NewReader(string(in)), func(c Chunk) error {
		got = append(got, c.Choices[0].Delta.Content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "^^0000000000000000123-00000001|^^1700000000000000000-00000002|"
	if strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

func TestReadSaysWhenAStreamIsCutOff(t *testing.T) {
	err := Read(strings.NewReader(string(AppendToken(nil, 1, 1))), func(Chunk) error { return nil })
	if err == nil {
		t.Error("a stream without its end was taken as whole")
	}
}

func TestRequestIsJSON(t *testing.T) {
	if !json.Valid(Request(Script{Tokens: 1})) {
		t.Errorf("%s is no JSON", Request(Script{Tokens: 1}))
	}
}
