// Package telegram is the surface of a Telegram bot: it reads what people write
// to the bot by long polling, or is told by a webhook, and posts through the Bot
// API of https://core.telegram.org/bots/api.
//
// Guarantee: a Send, an Edit and a Typing are one HTTP request. What Telegram
// answers in its own form decides the outcome; an answer that is anyone else's, or
// none, is Unknown as soon as the request could have been read. An update is
// confirmed to Telegram only after the inbox has it, so each is given again until
// it does.
//
// Not promised: that a message whose answer was lost is there or not. Telegram has
// no key that makes a repeated message one, and lets no bot read its own messages,
// so such a message stays Unknown. It also never tells a bot that people deleted
// something.
//
// The package makes its requests itself. The client library
// github.com/go-telegram/bot, which the tests run against the same far end, gives
// no status of an answer, reads any length of it, and takes updates for confirmed
// before they were handled.
package telegram
