package term

// JSON appends a JSON text to dst with the control characters that JSON allows
// inside strings as they are (0x7f to 0x9f) written as \u escapes: the same
// value, but a terminal that shows it obeys nothing. src must be valid JSON.
func JSON(dst, src []byte) []byte {
	const hex = "0123456789abcdef"
	for i := 0; i < len(src); i++ {
		c := src[i]
		switch {
		case c == del:
			dst = append(dst, `\u007f`...)
		case c == 0xc2 && i+1 < len(src) && src[i+1] >= 0x80 && src[i+1] <= 0x9f:
			i++
			dst = append(dst, '\\', 'u', '0', '0', hex[src[i]>>4], hex[src[i]&15])
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
