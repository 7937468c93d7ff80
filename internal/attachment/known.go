package attachment

import (
	"bytes"
	"strings"
)

// What to do with files that are refused.
const (
	asPicture  = "save it as PNG or JPEG, then attach that"
	asDocument = "save it as PDF or plain text, then attach that"
	asFiles    = "unpack it and attach the files in it"
)

// known are beginnings of files that people attach and no model takes. They only
// choose the words of a refusal.
func known() []struct{ head, what, advice string } {
	return []struct{ head, what, advice string }{
		{"II*\x00", "a TIFF picture", asPicture},
		{"MM\x00*", "a TIFF picture", asPicture},
		{"BM", "a BMP picture", asPicture},
		{"\x00\x00\x01\x00", "an icon", asPicture},
		{"8BPS", "a Photoshop picture", asPicture},
		{"\xff\x0a", "a JPEG XL picture", asPicture},
		{"\x00\x00\x00\x0cJXL ", "a JPEG XL picture", asPicture},
		{"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture", asPicture},
		{"\xd0\xcf\x11\xe0", "an old Office document", asDocument},
		{"%PDF-", "a PDF that breaks off", "open it and save it again, then attach that"},
		{"\x1f\x8b", "a compressed file", asFiles},
		{"7z\xbc\xaf\x27\x1c", "an archive", asFiles},
		{"Rar!\x1a\x07", "an archive", asFiles},
		{"\xfd7zXZ\x00", "a compressed file", asFiles},
		{"BZh", "a compressed file", asFiles},
		{"\x28\xb5\x2f\xfd", "a compressed file", asFiles},
		{"ID3", "a sound file", "attach what is said as text"},
		{"OggS", "a sound or video file", "attach what is said as text"},
		{"fLaC", "a sound file", "attach what is said as text"},
		{"RIFF", "a sound or video file", "attach what is said as text"},
		{"\x1a\x45\xdf\xa3", "a video file", "attach stills of it as PNG or JPEG"},
		{"\x7fELF", "a program", "attach its source"},
		{"MZ", "a program", "attach its source"},
		{"SQLite format 3\x00", "a database", "attach what matters of it as text"},
	}
}

// explain returns why a file that is neither text nor a picture is refused.
func explain(data []byte) string {
	if len(data) >= 12 && string(data[4:8]) == "ftyp" {
		return explainMedia(data)
	}
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return explainZip(data)
	}
	for _, k := range known() {
		if bytes.HasPrefix(data, []byte(k.head)) && binaryIn(string(data)) {
			return isA(k.what, k.advice)
		}
	}
	switch {
	case damagedUTF8(data):
		return "is damaged: most of it is UTF-8 text, but some bytes are not; save it again as UTF-8, then attach that"
	case binaryIn(string(data)):
		return "is neither text nor a PNG, JPEG, GIF, WebP or PDF file by its content; attach it as one of these"
	}
	return "is text, but in which encoding can't be told for certain; save it as UTF-8, then attach that"
}

func isA(what, advice string) string {
	return "is " + what + " by its content, which models don't take; " + advice
}

// explainMedia names a file of boxes by its brands.
func explainMedia(data []byte) string {
	size := min(int(data[2])<<8|int(data[3]), len(data))
	brands := string(data[8:max(size, 12)])
	switch {
	case strings.HasPrefix(brands, "avi"), strings.Contains(brands, "avif"):
		return isA("an AVIF picture", asPicture)
	case strings.HasPrefix(brands, "he"), strings.HasPrefix(brands, "mif1"), strings.HasPrefix(brands, "msf1"):
		return isA("a HEIC picture", asPicture)
	}
	return isA("a sound or video file", "attach what is said as text, or stills as PNG or JPEG")
}

// explainZip names an archive by the files in it.
func explainZip(data []byte) string {
	for _, k := range []struct{ inside, what string }{
		{"word/", "a Word document"},
		{"xl/", "an Excel workbook"},
		{"ppt/", "a PowerPoint presentation"},
		{"mimetypeapplication/vnd.oasis", "an OpenDocument file"},
		{"mimetypeapplication/epub", "an e-book"},
	} {
		if bytes.Contains(data, []byte(k.inside)) {
			return isA(k.what, asDocument)
		}
	}
	return isA("an archive", asFiles)
}
