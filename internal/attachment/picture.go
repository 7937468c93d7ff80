package attachment

import (
	"bytes"
	"fmt"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
)

// picture is what was found out about a file that begins like a picture.
type picture struct {
	mime, called  string
	width, height int
	// whole: it can be read and does not break off.
	whole bool
	// animated: it moves; some providers refuse such a one, and then every
	// later message of the conversation.
	animated bool
}

// sniffPicture reports whether data begins like a picture that models take, and
// what is known of it. Pixels are not decoded.
func sniffPicture(data []byte) (picture, bool) {
	switch {
	case bytes.HasPrefix(data, []byte(pngHead)):
		p := picture{mime: TypePNG, called: "PNG"}
		p.readSize(data, png.DecodeConfig)
		p.whole = p.whole && wholePNG(data)
		return p, true
	case bytes.HasPrefix(data, []byte("\xff\xd8\xff")):
		p := picture{mime: TypeJPEG, called: "JPEG"}
		p.readSize(data, jpeg.DecodeConfig)
		p.whole = p.whole && wholeJPEG(data)
		return p, true
	case bytes.HasPrefix(data, []byte("GIF87a")), bytes.HasPrefix(data, []byte("GIF89a")):
		p := picture{mime: TypeGIF, called: "GIF"}
		p.readSize(data, gif.DecodeConfig)
		frames := countGIF(data)
		p.whole, p.animated = p.whole && frames > 0, frames > 1
		return p, true
	case len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP":
		return readWebP(data), true
	}
	return picture{}, false
}

func (p *picture) readSize(data []byte, read func(io.Reader) (image.Config, error)) {
	config, err := read(bytes.NewReader(data))
	p.width, p.height, p.whole = config.Width, config.Height, err == nil
}

// unfit returns why the picture is refused, empty when it is not.
func (p picture) unfit() string {
	switch {
	case !p.whole:
		return fmt.Sprintf("begins as a %s picture but can't be read to its end; open it and save it again as PNG or JPEG, then attach that", p.called)
	case p.width < 1 || p.height < 1:
		return fmt.Sprintf("is a %s picture without any pixels; attach another", p.called)
	case p.width > MaxSidePixels || p.height > MaxSidePixels:
		return fmt.Sprintf("is a picture of %d by %d pixels, and models take at most %d on a side; make it smaller, then attach it again", p.width, p.height, MaxSidePixels)
	case p.animated:
		return fmt.Sprintf("is an animated %s picture, which many models refuse; save one still of it as PNG or JPEG, then attach that", p.called)
	}
	return ""
}
