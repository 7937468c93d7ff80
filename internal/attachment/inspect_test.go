package attachment

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func picturePNG(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// pictureJPEG has a preview in it, which ends like the picture itself.
func pictureJPEG(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewRGBA(image.Rect(0, 0, 24, 16)), nil); err != nil {
		t.Fatal(err)
	}
	preview := "\xff\xe1\x00\x08\xff\xd8\xff\xda\xff\xd9"
	return append([]byte("\xff\xd8"+preview), b.Bytes()[2:]...)
}

func pictureGIF(t testing.TB, frames int) []byte {
	t.Helper()
	var all gif.GIF
	for range frames {
		all.Image = append(all.Image, image.NewPaletted(image.Rect(0, 0, 8, 8), color.Palette{color.Black, color.White}))
		all.Delay = append(all.Delay, 10)
	}
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &all); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// chunkRIFF frames a chunk and fills it up to an even length.
func chunkRIFF(kind, body string) string {
	n := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	return kind + string(n) + body + strings.Repeat("\x00", len(body)%2)
}

func webP(chunks ...string) []byte { return []byte(chunkRIFF("RIFF", "WEBP"+strings.Join(chunks, ""))) }

var (
	// 3 by 2 pixels each.
	lossless = chunkRIFF("VP8L", "\x2f\x02\x40\x00\x00...")
	lossy    = chunkRIFF("VP8 ", "\x00\x00\x00\x9d\x01\x2a\x03\x00\x02\x00......")
)

const smallPDF = "%PDF-1.4\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n"

func TestPicturesAndPDF(t *testing.T) {
	tests := []struct {
		name string
		data []byte
		kind Kind
		mime string
	}{
		{"PNG", picturePNG(t, 3, 2), KindImage, TypePNG},
		{"PNG with something after it", append(picturePNG(t, 3, 2), "more"...), KindImage, TypePNG},
		{"JPEG", pictureJPEG(t), KindImage, TypeJPEG},
		{"JPEG with something after it", append(pictureJPEG(t), "\x00\x00"...), KindImage, TypeJPEG},
		{"GIF", pictureGIF(t, 1), KindImage, TypeGIF},
		{"GIF without its last byte", pictureGIF(t, 1)[:len(pictureGIF(t, 1))-1], KindImage, TypeGIF},
		{"WebP without loss", webP(lossless), KindImage, TypeWebP},
		{"WebP with loss", webP(lossy), KindImage, TypeWebP},
		{"WebP with a head", webP(chunkRIFF("VP8X", "\x10\x00\x00\x00\x02\x00\x00\x01\x00\x00"), chunkRIFF("ALPH", "x"), lossy), KindImage, TypeWebP},
		{"PDF", []byte(smallPDF), KindPDF, TypePDF},
		{"PDF that is no text", []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n\x00\x01%%EOF"), KindPDF, TypePDF},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := Inspect("a.txt", test.data)
			want := File{Name: "a.txt", Kind: test.kind, MIME: test.mime, Data: test.data}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("(-got +want):\n%s", diff)
			}
		})
	}
}

// K1: the type is in the bytes, and what a provider would refuse is refused
// before it enters a conversation, by name and with what to do.
func TestK1RefusedByContent(t *testing.T) {
	damaged := slices.Clone(picturePNG(t, 3, 2))
	damaged[len(damaged)-20]++
	emptyGIF := pictureGIF(t, 1)
	emptyGIF[6], emptyGIF[7], emptyGIF[8], emptyGIF[9] = 0, 0, 0, 0
	zip := func(name string) []byte { return []byte("PK\x03\x04\x14\x00\x00\x00\x00\x00" + name) }
	box := func(brands string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, uint32(8+len(brands))), "ftyp"+brands+"\x00\x00\x00\x08mdat"...)
	}
	tests := []struct {
		name string
		data []byte
		why  string
	}{
		{"photo.jpg", box("heic\x00\x00\x00\x00mif1heic"), "is a HEIC picture by its content, which models don't take; save it as PNG or JPEG"},
		{"photo.png", box("mif1\x00\x00\x00\x00heic"), "is a HEIC picture"},
		{"photo.heic", box("avif\x00\x00\x00\x00mif1"), "is an AVIF picture"},
		{"new.png", box("mif1\x00\x00\x00\x00avif"), "is an AVIF picture"},
		{"film.mp4", box("isom\x00\x00\x02\x00isomavc1"), "is a sound or video file"},
		{"cut box", []byte("\x00\x00\x00\xffftypheic"), "is a HEIC picture"},
		{"scan.jpg", []byte("II*\x00\x08\x00\x00\x00\x00\x00"), "is a TIFF picture"},
		{"scan.png", []byte("MM\x00*\x00\x00\x00\x08"), "is a TIFF picture"},
		{"shot.png", []byte("BM\x36\x00\x00\x00\x00\x00\x00\x00\x36\x00"), "is a BMP picture"},
		{"letter.txt", zip("word/document.xml"), "is a Word document by its content, which models don't take; save it as PDF or plain text"},
		{"table.csv", zip("xl/workbook.xml"), "is an Excel workbook"},
		{"all.txt", zip("a.txt"), "is an archive by its content, which models don't take; unpack it"},
		{"a.txt", []byte("\x7fELF\x02\x01\x01\x00"), "is a program"},
		{"noise", []byte("\x00\x01\x02\x03\x80\x90"), "is neither text nor a PNG, JPEG, GIF, WebP or PDF file"},
		{"nul.txt", []byte("text\x00text"), "is neither text nor"},
		{"delete.txt", []byte("text\x7f"), "is neither text nor"},
		{"cut.png", picturePNG(t, 3, 2)[:40], "begins as a PNG picture but can't be read to its end"},
		{"no end.png", picturePNG(t, 3, 2)[:len(picturePNG(t, 3, 2))-12], "begins as a PNG picture but"},
		{"damaged.png", damaged, "begins as a PNG picture but"},
		{"head.png", []byte(pngHead), "begins as a PNG picture but"},
		{"cut.jpg", pictureJPEG(t)[:200], "begins as a JPEG picture but"},
		{"no end.jpg", pictureJPEG(t)[:len(pictureJPEG(t))-2], "begins as a JPEG picture but"},
		{"head.jpg", []byte("\xff\xd8\xff"), "begins as a JPEG picture but"},
		{"cut.gif", pictureGIF(t, 1)[:20], "begins as a GIF picture but"},
		{"moving.gif", pictureGIF(t, 2), "is an animated GIF picture, which many models refuse; save one still"},
		{"empty.gif", emptyGIF, "is a GIF picture without any pixels"},
		{"cut.webp", webP(lossless)[:24], "begins as a WebP picture but"},
		{"no pixels.webp", webP(chunkRIFF("EXIF", "x")), "begins as a WebP picture but"},
		{"empty.webp", webP(chunkRIFF("VP8 ", "\x00\x00\x00\x9d\x01\x2a\x00\x00\x00\x00")), "is a WebP picture without any pixels"},
		{"moving.webp", webP(chunkRIFF("VP8X", "\x02\x00\x00\x00\x02\x00\x00\x01\x00\x00"), chunkRIFF("ANMF", "xxxx")), "is an animated WebP picture"},
		{"wide.png", picturePNG(t, MaxSidePixels+1, 1), "is a picture of 8001 by 1 pixels, and models take at most 8000 on a side"},
		{"cut.pdf", []byte("%PDF-1.7\n\x00\x01"), "is a PDF that breaks off"},
		{"large.txt", bytes.Repeat([]byte("x"), MaxBytes+1), "is larger than 2 MiB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, err := Inspect("/home/me/"+test.name, test.data)
			var refusal *Refusal
			if !errors.As(err, &refusal) {
				t.Fatalf("got %+v and %v, want a refusal", f, err)
			}
			if got := refusal.Error(); !strings.HasPrefix(got, test.name+" "+test.why) {
				t.Errorf("got %q, want %q", got, test.name+" "+test.why)
			}
			if !strings.ContainsAny(refusal.Reason, ";") {
				t.Errorf("%q does not say what to do", refusal.Reason)
			}
			if refusal.TooLarge != (len(test.data) > MaxBytes) {
				t.Errorf("too large: got %v", refusal.TooLarge)
			}
		})
	}
}

// K2: a drawing with a script in it is text, is stored as text, and is never
// served as something that a browser runs.
func TestK2SVGIsText(t *testing.T) {
	const svg = `<svg xmlns="http://www.w3.org/2000/svg"><script>alert("é")</script></svg>`
	f, err := Inspect("drawing.svg", []byte(svg))
	if err != nil {
		t.Fatal(err)
	}
	want := File{Name: "drawing.svg", Kind: KindText, MIME: TypeText, Data: []byte(svg), Text: svg}
	if diff := cmp.Diff(f, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if got, want := Fold(f), "Attached file: drawing.svg\n```\n"+svg+"\n```\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, stored := range []string{f.MIME, "image/svg+xml", "text/html", "image/png; x", "IMAGE/PNG", ""} {
		if got := ContentType(stored); got != "application/octet-stream" {
			t.Errorf("%q is served as %q", stored, got)
		}
		if got := Disposition(f.Name, stored); got != "attachment; filename=drawing.svg" {
			t.Errorf("%q is served with %q", stored, got)
		}
	}
}

func TestServing(t *testing.T) {
	for _, stored := range []string{TypePNG, TypeJPEG, TypeGIF, TypeWebP, TypePDF} {
		if got := ContentType(stored); got != stored {
			t.Errorf("%s is served as %s", stored, got)
		}
	}
	tests := map[string]string{
		"a.png":            `inline; filename=a.png`,
		`my "best" one`:    `inline; filename="my \"best\" one"`,
		"né.png":           `inline; filename*=utf-8''n%C3%A9.png`,
		"a\r\nSet-Cookie:": `inline; filename="aSet-Cookie:"`,
	}
	for name, want := range tests {
		if got := Disposition(name, TypePNG); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

func TestPlainTextThatBeginsLikeSomethingElse(t *testing.T) {
	for _, text := range []string{
		"", "\n", "BMW makes cars", "MZ is a letter pair", "GIF89a is a format", "%PDF-1.4 is a header", "%PDF-x %%EOF",
		"RIFF and WEBP", "ID3 tags", "PK is short", "<html>", "{\\rtf1 x}", "a\x1b[31mred\x1b[0m\a\b\f\v", "the end\r\n\x1a",
		"\u0085 and \u200b and \ufffd", "costs $5 \x1b$ not Japanese",
	} {
		f, err := Inspect("x", []byte(text))
		if err != nil || f.Kind != KindText || f.Text != text {
			t.Errorf("%q: got %+v and %v", text, f, err)
		}
	}
}

func TestCleanName(t *testing.T) {
	long := strings.Repeat("é", 200)
	tests := []struct{ name, want string }{
		{"a.txt", "a.txt"},
		{"/etc/passwd", "passwd"},
		{`C:\Users\me\a b.txt`, "a b.txt"},
		{"../../x", "x"},
		{"", "file"}, {"..", "file"}, {"a/", "file"}, {" \t", "file"},
		{".env", ".env"},
		{"a\r\nb\x00\x1b[31m\u2028.txt", "ab[31m.txt"},
		{"photo\u202egpj.exe", "photogpj.exe"},
		{"👩\u200d💻.txt", "👩\u200d💻.txt"},
		{"bad\xff.txt", "bad\ufffd.txt"},
		{long + ".txt", strings.Repeat("é", 125) + ".txt"},
		{strings.Repeat("x", 300), strings.Repeat("x", 255)},
		{"x." + strings.Repeat("y", 300), "x." + strings.Repeat("y", 253)},
		{"你好.md", "你好.md"},
	}
	for _, test := range tests {
		if got := CleanName(test.name); got != test.want {
			t.Errorf("%q: got %q, want %q", test.name, got, test.want)
		}
		if again := CleanName(test.want); again != test.want {
			t.Errorf("%q: cleaned again it is %q", test.want, again)
		}
	}
}
