package tool

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// memorySpool keeps what is spooled, and fails as told.
type memorySpool struct {
	b         bytes.Buffer
	opened    int
	committed bool
	aborted   bool
	openErr   error
	writeErr  error
	commitErr error
}

func (s *memorySpool) open() (Spool, error) {
	s.opened++
	if s.openErr != nil {
		return nil, s.openErr
	}
	return s, nil
}

func (s *memorySpool) Write(p []byte) (int, error) {
	if s.writeErr != nil {
		return 0, s.writeErr
	}
	return s.b.Write(p)
}

func (s *memorySpool) Commit() (string, int64, error) {
	s.committed = true
	if s.commitErr != nil {
		return "", 0, s.commitErr
	}
	return "blob_1", int64(s.b.Len()), nil
}

func (s *memorySpool) Abort() { s.aborted = true }

type stored struct {
	Shown     string
	Truncated bool
	Bytes     int64
	Blob      string
}

func resultOf(t *testing.T, k *Keeper) stored {
	t.Helper()
	shown, truncated, n, blob, err := k.Result()
	if err != nil {
		t.Fatal(err)
	}
	return stored{shown, truncated, n, blob}
}

func TestOutputShownWhole(t *testing.T) {
	tests := []struct {
		name   string
		writes []string
		want   string
	}{
		{"nothing", nil, ""},
		{"an empty write", []string{""}, ""},
		{"white space", []string{" \n\n\t"}, " \n\n\t"},
		{"joined", []string{"a", "b\n", "c"}, "ab\nc"},
		{"a character in pieces", []string{"\xf0", "\x9f\x8c", "\x8d!"}, "🌍!"},
		{"bytes that are no character", []string{"a\xff\xfeb"}, "a��b"},
		{"a character that never ends", []string{"a\xe4\xbd"}, "a��"},
		{"a character that is broken off by another", []string{"\xe4\xbd", "é"}, "��é"},
		{"control characters", []string{"\x1b[2J\x00\r"}, "\x1b[2J\x00\r"},
		{"as many characters as are shown", []string{strings.Repeat("日", MaxShownRunes)}, strings.Repeat("日", MaxShownRunes)},
		{"as many lines as are shown", []string{strings.Repeat("\n", MaxShownLines)}, strings.Repeat("\n", MaxShownLines)},
		{"and one begun", []string{strings.Repeat("a\n", MaxShownLines-1) + "b"}, strings.Repeat("a\n", MaxShownLines-1) + "b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var spool memorySpool
			k := NewOutput(OutputConfig{Spool: spool.open})
			for _, w := range tt.writes {
				if n, err := io.WriteString(k, w); n != len(w) || err != nil {
					t.Fatalf("wrote %d of %d, %v", n, len(w), err)
				}
			}
			want := stored{Shown: tt.want, Bytes: int64(len(tt.want))}
			if diff := cmp.Diff(want, resultOf(t, k)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if spool.opened != 0 {
				t.Error("a spool was opened although all is shown")
			}
		})
	}
}

func TestOutputShownByItsEnd(t *testing.T) {
	numbered := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%d\n", i)
		}
		return b.String()
	}
	tests := []struct{ name, written, shown, note string }{
		{"one character too many", "x" + strings.Repeat("日", MaxShownRunes), strings.Repeat("日", MaxShownRunes), "[the first 1 byte of 60,001 bytes are left out here; the whole output is kept]\n"},
		{"one line too many", "first\n" + strings.Repeat("a\n", MaxShownLines), strings.Repeat("a\n", MaxShownLines), "[the first 6 bytes of 4,006 bytes are left out here; the whole output is kept]\n"},
		{"one line too many without its break", "first\n" + strings.Repeat("a\n", MaxShownLines-1) + "b", strings.Repeat("a\n", MaxShownLines-1) + "b", "[the first 6 bytes of 4,005 bytes are left out here; the whole output is kept]\n"},
		{"many lines", numbered(100_000), numbered(100_000)[len(numbered(98_000)):], "[the first 576,890 bytes of 588,890 bytes are left out here; the whole output is kept]\n"},
	}
	for _, tt := range tests {
		for _, size := range []int{1 << 20, 4096, 7} {
			t.Run(fmt.Sprintf("%s in pieces of %d", tt.name, size), func(t *testing.T) {
				var spool memorySpool
				k := NewOutput(OutputConfig{Spool: spool.open})
				for rest := tt.written; rest != ""; {
					n := min(size, len(rest))
					if _, err := io.WriteString(k, rest[:n]); err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
				want := stored{Shown: tt.note + tt.shown, Truncated: true, Bytes: int64(len(tt.written)), Blob: "blob_1"}
				if diff := cmp.Diff(want, resultOf(t, k)); diff != "" {
					t.Errorf("-want +got\n%.2000s", diff)
				}
				if spool.b.String() != tt.written || spool.opened != 1 || !spool.committed || spool.aborted {
					t.Errorf("the spool has %d bytes of %d, opened %d times", spool.b.Len(), len(tt.written), spool.opened)
				}
			})
		}
	}
}

// D8: however the bytes of an output are cut, the text is the same.
func TestOutputD8AnyBytesInAnyPieces(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	alphabet := []string{"a", "\n", "é", "日", "🌍", "\xff", "\xe6\x97", "\xf0\x9f", "\x80", "\xed\xa0\x80"}
	for range 80 {
		var whole []byte
		for range r.IntN(30) {
			whole = append(whole, strings.Repeat(alphabet[r.IntN(len(alphabet))], 1+r.IntN(3)*r.IntN(2000))...)
		}
		want := string([]rune(string(whole)))
		var spool memorySpool
		k := NewOutput(OutputConfig{Spool: spool.open})
		for rest := whole; len(rest) > 0; {
			n := 1 + r.IntN(min(len(rest), 1+r.IntN(50_000)))
			if _, err := k.Write(rest[:n]); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		got := resultOf(t, k)
		text := got.Shown
		if got.Truncated {
			_, text, _ = strings.Cut(text, "\n")
		}
		kept := spool.b.String()
		if !got.Truncated {
			kept = text
		}
		if !strings.HasSuffix(want, text) || kept != want || got.Bytes != int64(len(want)) {
			t.Fatalf("%d bytes: shown %d, kept %d, said %d", len(want), len(text), len(kept), got.Bytes)
		}
		over := utf8.RuneCountInString(want) > MaxShownRunes || strings.Count(want, "\n") > MaxShownLines
		if utf8.RuneCountInString(text) > MaxShownRunes || over && !got.Truncated {
			t.Fatalf("shown %d characters, truncated %v", utf8.RuneCountInString(text), got.Truncated)
		}
	}
}

func TestOutputThatCantBeKept(t *testing.T) {
	full := errors.New("the disk is full")
	tests := []struct {
		name    string
		spool   memorySpool
		aborted bool
	}{
		{"it can't be opened", memorySpool{openErr: full}, false},
		{"it can't be written", memorySpool{writeErr: full}, true},
		{"it can't be committed", memorySpool{commitErr: full}, false},
	}
	written := "x" + strings.Repeat("a", MaxShownRunes)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			k := NewOutput(OutputConfig{Spool: tt.spool.open})
			for range 3 {
				if n, err := io.WriteString(k, written); n != len(written) || err != nil {
					t.Fatalf("wrote %d, %v", n, err)
				}
			}
			shown, truncated, n, blob, err := k.Result()
			want := "[the first 40,003 bytes of 60,003 bytes are left out here; they were not kept]\n" + written[1:]
			if shown != want || !truncated || n != 60_003 || blob != "" || !errors.Is(err, full) {
				t.Errorf("got %.100q, %v, %d, %q, %v", shown, truncated, n, blob, err)
			}
			if tt.spool.opened != 1 || tt.spool.aborted != tt.aborted {
				t.Errorf("opened %d times, aborted %v", tt.spool.opened, tt.spool.aborted)
			}
		})
	}
	k := NewOutput(OutputConfig{})
	_, _ = io.WriteString(k, written)
	if shown, truncated, _, blob, err := k.Result(); !truncated || blob != "" || err == nil || !strings.Contains(shown, "they were not kept") {
		t.Errorf("without a spool: %.100q, %q, %v", shown, blob, err)
	}
}

func TestOutputIsKeptUpToItsBound(t *testing.T) {
	const most = 3*MaxShownRunes + 2
	whole := strings.Repeat("日", MaxShownRunes)
	tests := []struct{ name, written, kept, noted string }{
		{"just as much", whole + "ab", whole + "ab", "[the first 6 bytes of 60,002 bytes are left out here; the whole output is kept]"},
		{"one more", whole + "abc", whole + "ab", "[the first 9 bytes of 60,003 bytes are left out here; only the first 60,002 bytes of the output are kept]"},
		{"no part of a character, and nothing behind it", whole + "日a", whole, "[the first 6 bytes of 60,004 bytes are left out here; only the first 60,000 bytes of the output are kept]"},
	}
	for _, tt := range tests {
		for _, size := range []int{1 << 20, 1} {
			t.Run(fmt.Sprintf("%s in pieces of %d", tt.name, size), func(t *testing.T) {
				var spool memorySpool
				k := NewOutput(OutputConfig{Spool: spool.open})
				if k.mostKept != 64<<20 {
					t.Errorf("up to %d bytes are kept", k.mostKept)
				}
				k.mostKept = most
				for rest := tt.written; rest != ""; {
					n := min(size, len(rest))
					_, _ = io.WriteString(k, rest[:n])
					rest = rest[n:]
				}
				got := resultOf(t, k)
				note, _, _ := strings.Cut(got.Shown, "\n")
				if spool.b.String() != tt.kept || got.Bytes != int64(len(tt.written)) || note != tt.noted {
					t.Errorf("kept %d, said %d: %s", spool.b.Len(), got.Bytes, note)
				}
			})
		}
	}
}

func TestOutputEnds(t *testing.T) {
	var spool memorySpool
	k := NewOutput(OutputConfig{Spool: spool.open})
	_, _ = io.WriteString(k, strings.Repeat("a", MaxShownRunes+1))
	first := resultOf(t, k)
	if _, err := k.Write([]byte("late")); !errors.Is(err, errOutputEnded) {
		t.Errorf("a late write got %v", err)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(first, resultOf(t, k)); diff != "" || spool.aborted {
		t.Errorf("the result changed (aborted %v): %s", spool.aborted, diff)
	}

	dropped := memorySpool{}
	k = NewOutput(OutputConfig{Spool: dropped.open})
	_, _ = io.WriteString(k, strings.Repeat("a", MaxShownRunes+1))
	for range 2 {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	}
	if !dropped.aborted || dropped.committed {
		t.Errorf("aborted %v, committed %v", dropped.aborted, dropped.committed)
	}
}

func TestOutputIsSafeForConcurrentUse(t *testing.T) {
	var spool memorySpool
	k := NewOutput(OutputConfig{Spool: spool.open, Progress: func(string) {}})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				k.Live()
				if _, err := io.WriteString(k, strings.Repeat("日", 10)+"\n"); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := resultOf(t, k); got.Bytes != 8*200*31 || strings.ContainsRune(got.Shown, utf8.RuneError) {
		t.Errorf("got %d bytes", got.Bytes)
	}
}
