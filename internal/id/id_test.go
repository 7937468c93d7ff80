package id_test

import (
	"fmt"
	"strings"
	"testing"

	"verbatim/internal/id"
)

func TestValid(t *testing.T) {
	rows := []struct {
		name, id string
		want     bool
	}{
		{"letter", "a", true},
		{"all kinds", "Az09._-", true},
		{"dots only", "..", true},
		{"longest", strings.Repeat("x", id.MaxBytes), true},
		{"nothing", "", false},
		{"too long", strings.Repeat("x", id.MaxBytes+1), false},
		{"slash", "a/b", false},
		{"backslash", `a\b`, false},
		{"space", "a b", false},
		{"line break", "a\n", false},
		{"zero byte", "a\x00", false},
		{"percent", "a%2e", false},
		{"beyond ASCII", "é", false},
		{"full-width letter", "ａ", false},
		{"not UTF-8", "\xff", false},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			if got := id.Valid(row.id); got != row.want {
				t.Errorf("Valid(%q) = %v, want %v", row.id, got, row.want)
			}
		})
	}
}

func TestMintedIDsDifferAndAreValid(t *testing.T) {
	var m id.Mint
	seen := map[string]bool{}
	for range 100 {
		for _, s := range []string{
			string(m.Conversation()), string(m.Run()), string(m.Message()), string(m.Call()), string(m.Approval()), string(m.Epoch()),
		} {
			if seen[s] {
				t.Fatalf("%q was minted twice", s)
			}
			if !id.Valid(s) {
				t.Errorf("%q is no id", s)
			}
			seen[s] = true
		}
	}
}

func TestMintSaysWhatItNames(t *testing.T) {
	n := 0
	m := id.Mint{Text: func() string { n++; return fmt.Sprintf("%026d", n) }}
	for _, row := range []struct{ got, want string }{
		{string(m.Conversation()), "c_"}, {string(m.Run()), "r_"}, {string(m.Message()), "m_"},
		{string(m.Call()), "call_"}, {string(m.Approval()), "a_"},
	} {
		if !strings.HasPrefix(row.got, row.want) || len(row.got) != len(row.want)+26 {
			t.Errorf("got %q, want %s and 26 characters", row.got, row.want)
		}
	}
}

func TestEpochCanStandInACursor(t *testing.T) {
	c := id.Cursor{Epoch: id.Mint{}.Epoch(), Seq: 3}
	if got, err := id.ParseCursor(c.String()); err != nil || got != c {
		t.Errorf("%v was read as %v, %v", c, got, err)
	}
	short := id.Mint{Text: func() string { return "abc" }}
	if got := short.Epoch(); got != "abc" {
		t.Errorf("epoch = %q", got)
	}
}

func TestSegmentOf(t *testing.T) {
	if got := id.SegmentOf(12); got != "s12" {
		t.Errorf("got %q", got)
	}
}
