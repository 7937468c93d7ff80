// Package attachment decides what a file that came with a message is, from its
// bytes alone, and how it stands in what the model is told.
//
// Guarantee: what is taken is a picture or a PDF that providers take, or text
// whose every byte was understood; the rest is refused with a sentence for
// people before it enters a conversation. The same bytes are always judged the
// same. Not promised: that a provider likes the content of a whole picture or
// PDF, such as one that needs a password.
package attachment

import "bytes"

// The limits of what may come with one message.
const (
	// MaxFiles is how many files a message may have.
	MaxFiles = 5
	// MaxBytes is the largest file, in bytes as given.
	MaxBytes = 2 << 20
	// MaxFoldBytes is how much of a text the model is told, in bytes of UTF-8.
	MaxFoldBytes = 100_000
	// MaxSidePixels is the longest side of a picture: some providers refuse
	// larger ones, and with them the whole conversation.
	MaxSidePixels = 8000
)

// Kind is how a file goes to the model.
type Kind string

// The kinds.
const (
	// KindImage and KindPDF go as bytes.
	KindImage Kind = "image"
	KindPDF   Kind = "pdf"
	// KindText is folded into the message (see Fold).
	KindText Kind = "text"
)

// The types of files as they are stored and served. Text of every sort is
// TypeText, also an SVG: nothing that looks for image/ may take it for a picture.
const (
	TypePNG  = "image/png"
	TypeJPEG = "image/jpeg"
	TypeGIF  = "image/gif"
	TypeWebP = "image/webp"
	TypePDF  = "application/pdf"
	TypeText = "text/plain"
)

// File is a file that was taken. Its bytes are shared: nobody changes them.
type File struct {
	// Name is for people (see CleanName), never a path.
	Name string
	// MIME is one of the types above.
	MIME string
	Kind Kind
	// Data is the file as given.
	Data []byte
	// Text is what a KindText file says, in UTF-8 without a byte order mark.
	Text string
}

// Refusal is why a file is not taken. Nothing of it was kept.
type Refusal struct {
	// Name is the file's, for people.
	Name string
	// Reason goes on after the name: what is wrong and what to do.
	Reason string
	// TooLarge tells that the size was the reason.
	TooLarge bool
}

// Error is a sentence for people that names the file.
func (r *Refusal) Error() string { return r.Name + " " + r.Reason }

// Inspect decides what a file is. Neither the name nor what a client says about
// its type counts. The error is a *Refusal. data is kept in the File, not copied.
func Inspect(name string, data []byte) (File, error) {
	f := File{Name: CleanName(name), Data: data}
	if len(data) > MaxBytes {
		return File{}, &Refusal{Name: f.Name, Reason: "is larger than 2 MiB; attach a smaller file, or a part of it", TooLarge: true}
	}
	if isPDF(data) {
		f.Kind, f.MIME = KindPDF, TypePDF
		return f, nil
	}
	if text, ok := decodeUnicode(data); ok {
		return f.asText(text), nil
	}
	if p, ok := sniffPicture(data); ok {
		if reason := p.unfit(); reason != "" {
			return File{}, f.refuse(reason)
		}
		f.Kind, f.MIME = KindImage, p.mime
		return f, nil
	}
	if text, ok := decodeOther(data); ok {
		return f.asText(text), nil
	}
	return File{}, f.refuse(explain(data))
}

func (f File) asText(text string) File {
	f.Kind, f.MIME, f.Text = KindText, TypeText, text
	return f
}

func (f File) refuse(reason string) *Refusal { return &Refusal{Name: f.Name, Reason: reason} }

// isPDF reports whether data is a PDF with an end.
func isPDF(data []byte) bool {
	version, ok := bytes.CutPrefix(data, []byte("%PDF-"))
	return ok && len(version) > 2 && digit(version[0]) && version[1] == '.' && digit(version[2]) &&
		bytes.Contains(version, []byte("%%EOF"))
}

func digit(b byte) bool { return '0' <= b && b <= '9' }
