package id_test

import (
	"strings"
	"testing"

	"verbatim/internal/id"
)

func TestParseCursor(t *testing.T) {
	good := []struct {
		name, text string
		want       id.Cursor
	}{
		{"plain", "e1-7", id.Cursor{Epoch: "e1", Seq: 7}},
		{"before the first record", "e1-0", id.Cursor{Epoch: "e1"}},
		{"one letter", "x-1", id.Cursor{Epoch: "x", Seq: 1}},
		{"capitals", "AbC9-10", id.Cursor{Epoch: "AbC9", Seq: 10}},
		{"longest epoch", strings.Repeat("e", 32) + "-1", id.Cursor{Epoch: id.Epoch(strings.Repeat("e", 32)), Seq: 1}},
		{"last seq", "e-9223372036854775807", id.Cursor{Epoch: "e", Seq: 1<<63 - 1}},
	}
	for _, row := range good {
		t.Run(row.name, func(t *testing.T) {
			got, err := id.ParseCursor(row.text)
			if err != nil || got != row.want {
				t.Errorf("ParseCursor(%q) = %v, %v, want %v", row.text, got, err, row.want)
			}
			if got.String() != row.text {
				t.Errorf("written again it is %q, want %q", got, row.text)
			}
		})
	}
	bad := map[string]string{
		"nothing": "", "bare number": "7", "no epoch": "-7", "no seq": "e1-", "dash only": "-",
		"negative": "e1--7", "signed": "e1-+7", "leading zero": "e1-07", "two zeros": "e1-00",
		"letters": "e1-x", "a letter after": "e1-7x", "a space after": "e1-7 ", "a space before": " e1-7",
		"a line break after": "e1-7\n", "hexadecimal": "e1-0x7", "underscore": "e1-1_000",
		"epoch with a dot": "e.1-7", "epoch beyond ASCII": "é-7", "epoch with a zero byte": "e\x00-7",
		"long epoch": strings.Repeat("e", 33) + "-1", "seq out of range": "e-9223372036854775808",
		"very long seq": "e-" + strings.Repeat("1", 20), "Arabic digits": "e-٧",
	}
	for name, text := range bad {
		t.Run(name, func(t *testing.T) {
			if got, err := id.ParseCursor(text); err == nil || got != (id.Cursor{}) {
				t.Errorf("ParseCursor(%q) = %v, %v, want an error and nothing", text, got, err)
			}
		})
	}
}

func TestAppendKeepsWhatIsThere(t *testing.T) {
	got := string(id.Cursor{Epoch: "e1", Seq: 42}.Append([]byte("id: ")))
	if got != "id: e1-42" {
		t.Errorf("got %q", got)
	}
}

// FuzzParseCursor: what is accepted is written again as it was read, so no two
// spellings name one place; what is refused gives nothing.
func FuzzParseCursor(f *testing.F) {
	for _, s := range []string{"e1-7", "e1-0", "", "-", "e1--1", "e-9223372036854775807", "e1-07", "é-1", "e1-7\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := id.ParseCursor(s)
		switch {
		case err != nil && c != (id.Cursor{}):
			t.Errorf("refused %q but returned %v", s, c)
		case err == nil && c.String() != s:
			t.Errorf("%q was read as %q", s, c)
		case err == nil && (c.Seq < 0 || len(c.Epoch) == 0 || len(c.Epoch) > 32):
			t.Errorf("%q gave %+v", s, c)
		}
	})
}
