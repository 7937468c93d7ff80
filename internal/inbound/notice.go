package inbound

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"unicode/utf8"

	"verbatim/internal/delivery"
	"verbatim/internal/surface"
)

// noticeKey names a line for ever: what is said, about what, and where. The same
// happening always makes the same key, so it is said once, also after a crash.
func noticeKey(a delivery.Address, what, about string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{a.Surface, a.Chat.ID, a.Chat.Thread, what, about}, "\x00")))
	return "in_" + what + "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:26])
}

// about names what a message's lines are about: the message as its platform
// knows it, or, where it has no name there, as we do.
func about(m surface.Message, deliveryID string) string {
	if m.ID != "" {
		return "m:" + m.ID
	}
	return deliveryID
}

// say has a line posted in a chat. A surface that takes no messages is told
// nothing.
func (in *Inbox) say(ctx context.Context, a delivery.Address, what, about, text string) error {
	if text == "" || in.opt.Caps.Mute {
		return nil
	}
	if err := in.opt.Say(ctx, a, noticeKey(a, what, about), text); err != nil {
		return fmt.Errorf("store a line for the chat: %w", err)
	}
	return nil
}

// trySay is say where nothing hangs on it.
func (in *Inbox) trySay(ctx context.Context, a delivery.Address, what, about, text string) {
	if err := in.say(ctx, a, what, about, text); err != nil {
		in.opt.Logger.Error("a line for a chat could not be stored", "chat", a.Chat.ID, "what", what, "err", err)
	}
}

// quoted puts text of others into a code span, so that no markup in it counts.
func quoted(text string) string {
	text = strings.ReplaceAll(clip(oneLine(text), 100), "`", "'")
	if text == "" {
		text = "?"
	}
	return "`" + text + "`"
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// clip shortens text to a number of code points, and shows that it did.
func clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most]) + "…"
}

// counted is a number with its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
