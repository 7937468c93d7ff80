package attachment

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

func TestParseDataURL(t *testing.T) {
	tests := []struct {
		name, url, mime, data string
		err                   error
	}{
		{"base64", "data:image/png;base64,aGk=", "image/png", "hi", nil},
		{"base64 with escapes", "data:image/png;base64,aGk%3D", "image/png", "hi", nil},
		{"base64 of nothing", "data:image/png;base64,", "image/png", "", nil},
		{"capital letters", "DATA:Image/PNG;BASE64,aGk=", "image/png", "hi", nil},
		{"a parameter", "data:text/plain;charset=gbk;base64,xOO6ww==", "text/plain", "\xc4\xe3\xba\xc3", nil},
		{"characters", "data:text/plain,a%20b+c é%ff", "text/plain", "a b+c é\xff", nil},
		{"a comma inside", "data:text/csv,a,b", "text/csv", "a,b", nil},
		{"no type", "data:,x", "text/plain", "x", nil},
		{"no type, base64", "data:;base64,eA==", "text/plain", "x", nil},
		{"base64 as a type", "data:base64,eA==", "", "", ErrDataURL},
		{"another scheme", "https://example.org/a.png", "", "", ErrDataURL},
		{"nothing", "", "", "", ErrDataURL},
		{"no comma", "data:image/png;base64", "", "", ErrDataURL},
		{"a long head", "data:image/png;x=" + strings.Repeat("y", 1000) + ",x", "", "", ErrDataURL},
		{"a type that is none", "data:image,x", "", "", ErrDataURL},
		{"a type with a line break", "data:image/p\nng,x", "", "", ErrDataURL},
		{"base64 is not last", "data:image/png;base64;x=y,aGk=", "image/png", "aGk=", nil},
		{"no padding", "data:image/png;base64,aGk", "", "", ErrDataURL},
		{"loose bits", "data:image/png;base64,aGl=", "", "", ErrDataURL},
		{"the other alphabet", "data:image/png;base64,-_-_", "", "", ErrDataURL},
		{"line breaks", "data:image/png;base64,aG\nk=", "", "", ErrDataURL},
		{"escaped line breaks", "data:image/png;base64,aG%0Ak=", "", "", ErrDataURL},
		{"blanks", "data:image/png;base64,aG k=", "", "", ErrDataURL},
		{"half an escape", "data:,a%2", "", "", ErrDataURL},
		{"a broken escape", "data:,a%2x", "", "", ErrDataURL},
		{"a raw line break", "data:,a\nb", "", "", ErrDataURL},
		{"a fragment", "data:image/svg+xml,<svg fill='#fff'/>", "", "", ErrDataURL},
		{"as large as may be", "data:,", "text/plain", "", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			mime, data, err := ParseDataURL(test.url)
			if mime != test.mime || string(data) != test.data || !errors.Is(err, test.err) {
				t.Errorf("got %q, %q and %v, want %q, %q and %v", mime, data, err, test.mime, test.data, test.err)
			}
		})
	}
}

func TestDataURLIsBounded(t *testing.T) {
	for n, want := range map[int]error{MaxBytes: nil, MaxBytes + 1: ErrTooLarge} {
		data := strings.Repeat("x", n)
		for name, url := range map[string]string{
			"base64":     "data:text/plain;base64," + base64.StdEncoding.EncodeToString([]byte(data)),
			"characters": "data:," + data,
			"escapes":    "data:," + strings.Repeat("%78", n),
		} {
			if _, got, err := ParseDataURL(url); !errors.Is(err, want) || err == nil && len(got) != n {
				t.Errorf("%s of %d bytes: got %d and %v, want %v", name, n, len(got), err, want)
			}
		}
	}
}

func TestDataURLIsNotReadWhenTooLong(t *testing.T) {
	if _, _, err := ParseDataURL("data:," + strings.Repeat("%", longestBody+1)); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}
