package attachment

import "mime"

// ReadingType is the content type under which the Text of a file is served for
// reading.
const ReadingType = "text/plain; charset=utf-8"

// DownloadType is the content type of bytes that no browser is to look into.
const DownloadType = "application/octet-stream"

// ContentType returns the content type under which the bytes of a file are
// served as they were given: a picture's or PDF's own, DownloadType for any
// other, also for an SVG, whatever type is stored. It holds only beside the header
// X-Content-Type-Options: nosniff.
func ContentType(stored string) string {
	if inline(stored) {
		return stored
	}
	return DownloadType
}

// Disposition returns the header Content-Disposition for the same bytes: shown in
// place for a picture or PDF, saved under the file's name for any other.
func Disposition(name, stored string) string {
	kind := "attachment"
	if inline(stored) {
		kind = "inline"
	}
	return mime.FormatMediaType(kind, map[string]string{"filename": CleanName(name)})
}

func inline(stored string) bool {
	switch stored {
	case TypePNG, TypeJPEG, TypeGIF, TypeWebP, TypePDF:
		return true
	}
	return false
}
