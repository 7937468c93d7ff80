package attachment

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
)

const pngHead = "\x89PNG\r\n\x1a\n"

// wholePNG reports whether all chunks are there and undamaged, up to the end
// mark.
func wholePNG(data []byte) bool {
	const frame = 12 // length, type, checksum
	pixels := false
	for rest := data[len(pngHead):]; len(rest) >= frame; {
		n := binary.BigEndian.Uint32(rest)
		if uint64(n) > uint64(len(rest)-frame) {
			return false
		}
		body, sum := rest[4:8+n], binary.BigEndian.Uint32(rest[8+n:])
		if crc32.ChecksumIEEE(body) != sum {
			return false
		}
		switch string(body[:4]) {
		case "IDAT":
			pixels = true
		case "IEND":
			return pixels
		}
		rest = rest[frame+n:]
	}
	return false
}

// wholeJPEG reports whether the pixels begin and an end mark follows. One inside
// a segment before, such as a preview's, does not count.
func wholeJPEG(data []byte) bool {
	const startOfScan = 0xda
	rest := data[2:]
	for {
		i := bytes.IndexByte(rest, 0xff)
		if i < 0 || i+1 >= len(rest) {
			return false
		}
		marker := rest[i+1]
		switch rest = rest[i+1:]; {
		case marker == 0xff, marker == 0, marker == 0x01, 0xd0 <= marker && marker <= 0xd9:
			continue // filling, or a marker without a length
		case marker == startOfScan:
			return bytes.Contains(rest, []byte("\xff\xd9"))
		}
		if len(rest) < 3 {
			return false
		}
		n := int(binary.BigEndian.Uint16(rest[1:]))
		if n < 2 || n+1 > len(rest) {
			return false
		}
		rest = rest[1+n:]
	}
}

// countGIF counts the pictures in a GIF: those that are complete, and one that
// begins after these.
func countGIF(data []byte) int {
	const head, descriptor, extension = 13, ',', '!'
	if len(data) < head {
		return 0
	}
	rest, ok := skip(data, head+colors(data[10]))
	for n := 0; ; {
		if !ok || len(rest) < 2 {
			return n
		}
		switch rest[0] {
		case extension:
			rest, ok = skipBlocks(rest[2:])
		case descriptor:
			if n > 0 {
				return n + 1
			}
			if len(rest) < 10 {
				return n
			}
			if rest, ok = skip(rest, 10+colors(rest[9])+1); ok {
				rest, ok = skipBlocks(rest)
			}
			if ok {
				n++
			}
		default:
			return n
		}
	}
}

// colors returns how many bytes the table takes that a GIF's flags announce.
func colors(flags byte) int {
	if flags&0x80 == 0 {
		return 0
	}
	return 3 << (flags&7 + 1)
}

func skip(data []byte, n int) ([]byte, bool) {
	if n > len(data) {
		return nil, false
	}
	return data[n:], true
}

// skipBlocks steps over a GIF's data blocks and the empty one that ends them.
func skipBlocks(data []byte) (rest []byte, ok bool) {
	for len(data) > 0 {
		n := int(data[0])
		if data, ok = skip(data, 1+n); !ok {
			return nil, false
		}
		if n == 0 {
			return data, true
		}
	}
	return nil, false
}
