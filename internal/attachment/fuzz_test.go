package attachment

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// Whatever the bytes are: they are taken as what they are or refused by name; a
// text is UTF-8 without what no text has; and the verdict is the same again.
func FuzzInspect(f *testing.F) {
	for _, seed := range []string{
		"", "text", "\xc4\xe3\xba\xc3", "\xff\xfeh\x00", "caf\xe9", smallPDF, "\x1b$B$3\x1b(B", "<?xml encoding='gbk'?>\xc4\xe3",
		"\x00\x00\x00\x18ftypheic", "PK\x03\x04word/",
	} {
		f.Add("a.txt", []byte(seed))
	}
	f.Add("é\u202e/..", []byte(in16("hello", binary.LittleEndian)))
	for _, seed := range [][]byte{picturePNG(f, 3, 2), pictureJPEG(f), pictureGIF(f, 2), webP(lossy), webP(lossless)} {
		f.Add("a.png", seed)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		got, err := Inspect(name, data)
		again, errAgain := Inspect(name, bytes.Clone(data))
		if diff := cmp.Diff(got, again); diff != "" || (err == nil) != (errAgain == nil) {
			t.Fatalf("another verdict on the same bytes: %s%v, %v", diff, err, errAgain)
		}
		var refusal *Refusal
		if err != nil {
			if !errors.As(err, &refusal) || refusal.Name != CleanName(name) || !strings.HasPrefix(err.Error(), refusal.Name+" ") {
				t.Fatalf("got %v, want a refusal that names %q", err, CleanName(name))
			}
			return
		}
		if len(got.Name) > MaxNameBytes || got.Name != CleanName(got.Name) || !bytes.Equal(got.Data, data) {
			t.Fatalf("got %q, from %q", got.Name, name)
		}
		if !utf8.ValidString(got.Text) || strings.ContainsRune(got.Text, 0) || got.Kind != KindText && got.Text != "" {
			t.Fatalf("%s has the text %q", got.Kind, got.Text)
		}
		if folded := Fold(got); !utf8.ValidString(folded) || (folded == "") != (got.Kind != KindText) {
			t.Fatalf("%s is folded into %q", got.Kind, folded)
		}
	})
}

// No URL is more than an error, and what a URL holds can be written and read
// again in both forms.
func FuzzParseDataURL(f *testing.F) {
	for _, seed := range []string{"data:,x", "data:image/png;base64,aGk=", "data:;base64,aGk%3D", "data:text/plain,%41%", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		mime, data, err := ParseDataURL(text)
		if err != nil {
			if !errors.Is(err, ErrDataURL) && !errors.Is(err, ErrTooLarge) {
				t.Fatalf("got %v", err)
			}
			return
		}
		for _, form := range []string{
			"data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data),
			"data:" + mime + "," + url.PathEscape(string(data)),
		} {
			if len(form) > maxHeadBytes && strings.IndexByte(form[:maxHeadBytes], ',') < 0 {
				return
			}
			mimeAgain, again, err := ParseDataURL(form)
			if err != nil || mimeAgain != mime || !bytes.Equal(again, data) {
				t.Fatalf("%q: got %q, %q and %v, want %q and %q", form, mimeAgain, again, err, mime, data)
			}
		}
	})
}
