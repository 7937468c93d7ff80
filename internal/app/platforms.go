package app

import (
	"verbatim/internal/surface"
	"verbatim/internal/surface/telegram"
	"verbatim/internal/surface/webhook"
	"verbatim/internal/surface/zulip"
)

// Platforms is the table of chat platforms. A new one is a folder below
// internal/surface and a line here.
func Platforms() []surface.Platform {
	return []surface.Platform{
		webhook.Platform,
		zulip.Platform,
		telegram.Platform,
	}
}
