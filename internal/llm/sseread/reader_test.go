package sseread

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// got is one event as a caller sees it.
type got struct {
	Name, Data string
	Cut        bool
}

func readAll(r io.Reader, limit int) ([]got, error) {
	reader := New(r)
	reader.max = limit
	var all []got
	for {
		ev, err := reader.Next()
		if err != nil {
			return all, err
		}
		all = append(all, got{string(ev.Name), string(ev.Data), ev.Cut})
	}
}

// cuts reads a text in pieces of the given lengths, the rest in one.
type cuts struct {
	text    string
	lengths []int
	err     error
}

func (c *cuts) Read(p []byte) (int, error) {
	if c.text == "" {
		return 0, c.err
	}
	n := len(c.text)
	if len(c.lengths) > 0 {
		n, c.lengths = min(n, c.lengths[0]), c.lengths[1:]
	}
	n = copy(p, c.text[:n])
	c.text = c.text[n:]
	return n, nil
}

func TestEvents(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []got
	}{
		{"plain", "data: a\n\ndata: b\n\n", []got{{Data: "a"}, {Data: "b"}}},
		{"CR LF", "data: a\r\n\r\ndata: b\r\n\r\n", []got{{Data: "a"}, {Data: "b"}}},
		{"CR", "data: a\r\rdata: b\r\r", []got{{Data: "a"}, {Data: "b"}}},
		{"mixed ends", "data: a\r\n\ndata: b\n\r\ndata: c\r\n\r", []got{{Data: "a"}, {Data: "b"}, {Data: "c"}}},
		{"CR LF between data lines", "data: a\r\ndata: b\r\n\r\n", []got{{Data: "a\nb"}}},
		{"byte order mark", "\ufeffdata: a\n\n", []got{{Data: "a"}}},
		{"only the first mark is one", "data: \ufeffa\n\n\ufeffdata: b\n\n", []got{{Data: "\ufeffa"}}},
		{"several data lines", "data: a\ndata: b\ndata:\ndata: c\n\n", []got{{Data: "a\nb\n\nc"}}},
		{"one space is dropped", "data:a\n\ndata:  b \n\ndata:\tc\n\n", []got{{Data: "a"}, {Data: " b "}, {Data: "\tc"}}},
		{"comments", ": hi\n\n:\ndata: a\n: between\ndata: b\n\n", []got{{Data: "a\nb"}}},
		{"names", "event: error\ndata: a\n\ndata: b\n\nevent: lost\n\ndata: c\n\n", []got{{Name: "error", Data: "a"}, {Data: "b"}, {Data: "c"}}},
		{"other fields", "id: 1\nretry: 5\nfoo: x\nbar\ndata: a\n\n", []got{{Data: "a"}}},
		{"empty data", "data\n\ndata:\n\n", []got{{}, {}}},
		{"colons in the value", "data: a: b\n\n", []got{{Data: "a: b"}}},
		{"no blank line at the end", "data: a\n\ndata: b\n", []got{{Data: "a"}, {Data: "b", Cut: true}}},
		{"no line end at the end", "data: a\n\ndata: b", []got{{Data: "a"}, {Data: "b", Cut: true}}},
		{"nothing", "", nil},
		{"NUL and invalid UTF-8", "data: a\x00\xff\n\n", []got{{Data: "a\x00\xff"}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for at := range len(test.stream) + 1 {
				events, err := readAll(&cuts{text: test.stream, lengths: []int{at}, err: io.EOF}, MaxBytes)
				if err != io.EOF {
					t.Fatalf("cut at %d: got error %v, want EOF", at, err)
				}
				if diff := cmp.Diff(events, test.want); diff != "" {
					t.Fatalf("cut at %d (-got +want):\n%s", at, diff)
				}
			}
			events, _ := readAll(iotest.OneByteReader(strings.NewReader(test.stream)), MaxBytes)
			if diff := cmp.Diff(events, test.want); diff != "" {
				t.Errorf("byte by byte (-got +want):\n%s", diff)
			}
		})
	}
}

func TestAnErrorComesAfterWhatIsComplete(t *testing.T) {
	broken := errors.New("connection reset")
	events, err := readAll(&cuts{text: "data: a\n\ndata: b\ndata: half", err: broken}, MaxBytes)
	if !errors.Is(err, broken) {
		t.Errorf("got error %v, want the source's", err)
	}
	if diff := cmp.Diff(events, []got{{Data: "a"}, {Data: "b", Cut: true}}); diff != "" {
		t.Errorf("events (-got +want):\n%s", diff)
	}
}

func TestErrorsStay(t *testing.T) {
	for _, stream := range []string{"data: a", "data: aaaaaaaaaaaaaaaaaaaaaaaaaaa\n\n"} {
		r := New(strings.NewReader(stream))
		r.max = 20
		var first error
		for first == nil {
			_, first = r.Next()
		}
		if _, again := r.Next(); again != first {
			t.Errorf("%q: got %v after %v", stream, again, first)
		}
	}
}

// A7: a long line is read as any other, and what is too long ends the stream
// after all that came before it.
func TestA7LongLines(t *testing.T) {
	long := strings.Repeat("x", 2<<20)
	events, err := readAll(strings.NewReader("data: "+long+"\n\ndata: ok\n\n"), MaxBytes)
	if err != io.EOF || len(events) != 2 || events[0].Data != long || events[1].Data != "ok" {
		t.Errorf("got %d events and %v, want the long one and ok", len(events), err)
	}

	const limit = 100
	fits := strings.Repeat("x", limit-len("data: "))
	tests := []struct {
		name, stream string
		want         []got
		err          error
	}{
		{"just fits", "data: " + fits + "\n\n", []got{{Data: fits}}, io.EOF},
		{"a byte more", "data: a\n\ndata: " + fits + "x\n\ndata: b\n\n", []got{{Data: "a"}}, ErrTooLong},
		{"never ends", "data: a\n\ndata: " + strings.Repeat("x", 300), []got{{Data: "a"}}, ErrTooLong},
		{"many lines of one event", "data: a\n\n" + strings.Repeat("data: 123456789\n", 20) + "\n", []got{{Data: "a"}}, ErrTooLong},
		{"a comment", ":" + strings.Repeat("x", 300) + "\n", nil, ErrTooLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for at := range len(test.stream) + 1 {
				events, err := readAll(&cuts{text: test.stream, lengths: []int{at}, err: io.EOF}, limit)
				if !errors.Is(err, test.err) {
					t.Fatalf("cut at %d: got error %v, want %v", at, err, test.err)
				}
				if diff := cmp.Diff(events, test.want); diff != "" {
					t.Fatalf("cut at %d (-got +want):\n%s", at, diff)
				}
			}
		})
	}
}

// FuzzReader: any way to cut the bytes gives the same events, and what was
// written as an event is read as it was.
func FuzzReader(f *testing.F) {
	f.Add([]byte("\xef\xbb\xbfdata: a\r\n\r\n: c\nevent: x\rdata:b\rdata: c\n\r\n"), uint64(1))
	f.Add([]byte("data: {\"a\":1}\n\ndata: [DONE]\n\n"), uint64(2))
	f.Fuzz(func(t *testing.T, stream []byte, seed uint64) {
		const limit = 64
		want, wantErr := readAll(bytes.NewReader(stream), limit)
		random := rand.New(rand.NewPCG(seed, 0))
		var lengths []int
		for range len(stream) {
			lengths = append(lengths, random.IntN(5))
		}
		events, err := readAll(&cuts{text: string(stream), lengths: lengths, err: io.EOF}, limit)
		if diff := cmp.Diff(events, want); diff != "" || err != wantErr {
			t.Errorf("seed %d: error %v, want %v (-cut +whole):\n%s", seed, err, wantErr, diff)
		}
		if len(stream) > limit/2 {
			return
		}
		var framed bytes.Buffer
		for _, line := range bytes.Split(stream, []byte("\n")) {
			framed.WriteString("data: " + string(line) + "\n")
		}
		framed.WriteString("\n")
		if bytes.ContainsRune(stream, '\r') || framed.Len() > limit {
			return
		}
		events, _ = readAll(&framed, limit)
		if diff := cmp.Diff(events, []got{{Data: string(stream)}}); diff != "" {
			t.Errorf("what was framed comes back otherwise (-got +want):\n%s", diff)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	event := "data: {\"id\":\"x\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" token\"},\"finish_reason\":null}]}\n\n"
	stream := strings.Repeat(event, 1000)
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		r := New(strings.NewReader(stream))
		for {
			if _, err := r.Next(); err != nil {
				break
			}
		}
	}
}
