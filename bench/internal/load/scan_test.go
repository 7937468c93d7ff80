package load

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func frames(seqs ...int) string {
	var b strings.Builder
	b.WriteString(": keep-alive\n\nevent: start\ndata: {}\nid: e-1\n\n")
	for i, n := range seqs {
		fmt.Fprintf(&b, "event: delta\ndata: {\"text\":\"^^%019d-%08d\",\"seq\":1}\nid: e-%d\n\n", 1_700_000_000_000_000_000+n, n, i+2)
	}
	return b.String()
}

func TestScanCountsWhatIsWrong(t *testing.T) {
	tests := []struct {
		name   string
		stream string
		want   Tally
	}{
		{"in order", frames(1, 2, 3), Tally{Events: 3, KeepAlives: 1}},
		{"one lost", frames(1, 3), Tally{Events: 2, Lost: 1, KeepAlives: 1}},
		{"one twice", frames(1, 2, 2, 3), Tally{Events: 4, Repeated: 1, KeepAlives: 1}},
		{"an old one again", frames(1, 2, 3, 1), Tally{Events: 4, Reordered: 1, KeepAlives: 1}},
		{"an id that does not rise", frames(1) + strings.ReplaceAll(frames(2), "id: e-2", "id: e-1"), Tally{Events: 2, WrongIDs: 1, KeepAlives: 2}},
		{"no ids", strings.ReplaceAll(frames(1, 2), "\nid: ", "\nno: "), Tally{Events: 2, KeepAlives: 1}},
		{"marks that are no token", "data: ^^ ^^x\n\n" + frames(1), Tally{Events: 1, KeepAlives: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var s scanner
			s.scan([]byte(test.stream))
			if s.Tally != test.want {
				t.Errorf("got %+v, want %+v", s.Tally, test.want)
			}
		})
	}
}

// A stream may be cut anywhere between two reads, and its chunks may be cut
// anywhere too.
func TestScanDoesNotDependOnCuts(t *testing.T) {
	plain := frames(1, 2, 4, 4)
	var chunked strings.Builder
	for part := range slices.Chunk([]byte(plain), 37) {
		fmt.Fprintf(&chunked, "%x\r\n%s\r\n", len(part), part)
	}
	chunked.WriteString("0\r\n\r\n")
	want := Tally{Events: 4, Lost: 1, Repeated: 1}
	for size := 1; size < chunked.Len(); size++ {
		s := Stream{dec: &dechunk{}}
		for part := range slices.Chunk([]byte(chunked.String()), size) {
			s.scan(s.dec.decode(slices.Clone(part)))
		}
		s.KeepAlives = 0 // counted only where they come whole
		if s.Tally != want || !s.Ended() {
			t.Fatalf("read by %d: got %+v, ended %v; want %+v", size, s.Tally, s.Ended(), want)
		}
	}
}

func TestScanTellsSendTimesAndCursor(t *testing.T) {
	var got []int64
	s := Stream{scanner: scanner{sent: func(at int64) { got = append(got, at) }}}
	s.scan([]byte(frames(1, 2)))
	if want := []int64{1_700_000_000_000_000_001, 1_700_000_000_000_000_002}; !slices.Equal(got, want) {
		t.Errorf("send times are %v, want %v", got, want)
	}
	if token, id, epoch := s.Cursor(); token != 2 || id != 3 || epoch != "e" {
		t.Errorf("cursor is %d, %d, %q; want 2, 3, e", token, id, epoch)
	}
}
