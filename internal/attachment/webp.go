package attachment

import "encoding/binary"

// readWebP looks at the chunks of a file that begins like a WebP picture.
func readWebP(data []byte) picture {
	p := picture{mime: TypeWebP, called: "WebP"}
	const head, chunkHead = 12, 8
	size := uint64(binary.LittleEndian.Uint32(data[4:]))
	if size+8 > uint64(len(data)) || size < 4 {
		return p
	}
	rest := data[head : size+8]
	for len(rest) >= chunkHead {
		kind, n := string(rest[:4]), uint64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[chunkHead:]
		if n > uint64(len(rest)) {
			p.whole = false
			return p
		}
		p.readChunk(kind, rest[:n])
		rest = rest[min(n+n&1, uint64(len(rest))):] // chunks begin at even places
	}
	return p
}

func (p *picture) readChunk(kind string, body []byte) {
	switch {
	case kind == "VP8X" && len(body) >= 10:
		p.animated = body[0]&0x02 != 0
		p.width, p.height = 1+uint24(body[4:]), 1+uint24(body[7:])
	case kind == "VP8 " && len(body) >= 10 && string(body[3:6]) == "\x9d\x01\x2a":
		const mask = 1<<14 - 1
		p.whole = true
		p.frame(int(binary.LittleEndian.Uint16(body[6:])&mask), int(binary.LittleEndian.Uint16(body[8:])&mask))
	case kind == "VP8L" && len(body) >= 5 && body[0] == 0x2f:
		const mask = 1<<14 - 1
		bits := binary.LittleEndian.Uint32(body[1:])
		p.whole = true
		p.frame(1+int(bits&mask), 1+int(bits>>14&mask))
	case kind == "ANMF":
		p.whole, p.animated = true, true
	}
}

// frame notes a size unless the file's head has said one.
func (p *picture) frame(width, height int) {
	if p.width == 0 {
		p.width, p.height = width, height
	}
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
