package delivery

import (
	"crypto/sha256"

	"verbatim/internal/event"
	"verbatim/internal/id"
)

// replyLetters are those of a reply code: none looks like another.
const replyLetters = "abcdefghjkmnpqrstuvwxyz23456789"

// ReplyCode is the short name of a request for approval that a person types: four
// of replyLetters, made of its id. Two requests may have the same one, which
// whoever reads a code must look out for.
func ReplyCode(a id.Approval) string {
	sum := sha256.Sum256([]byte(a))
	code := make([]byte, 4)
	for i := range code {
		code[i] = replyLetters[int(sum[i])%len(replyLetters)]
	}
	return string(code)
}

// ButtonData is what a button of a request for approval carries, at most 64 bytes
// for ids that we mint.
func ButtonData(a id.Approval, d event.Decision) string {
	return "a:" + string(a) + ":" + string(d)
}
