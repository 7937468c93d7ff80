package telegram

import "time"

// Options are keys for tests.
type Options struct {
	Token, Base string
	Webhook     bool
	Limit       int
}

// KeysOf returns the platform's keys, with the defaults for what is not set.
func KeysOf(o Options) any {
	k, ok := Platform.Keys().(*keys)
	if !ok {
		panic("the keys have another type")
	}
	k.Token, k.Webhook = o.Token, o.Webhook
	if o.Base != "" {
		k.APIBase = o.Base
	}
	if o.Limit != 0 {
		k.Limit = o.Limit
	}
	return k
}

// OffsetAfter is what a bot confirms that read up to a number at a time.
func OffsetAfter(next int64, at, now time.Time) int64 {
	p := polling{next: next, at: at}
	return p.offset(now)
}

// ProofOf is what Telegram shows when it calls the webhook of a token's bot.
func ProofOf(token string) string { return proofOf(token) }
