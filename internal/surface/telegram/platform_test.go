package telegram_test

import (
	"reflect"
	"strings"
	"testing"

	"verbatim/internal/surface"
	"verbatim/internal/surface/telegram"
)

func TestWrongKeysAreNamedAndNeverShown(t *testing.T) {
	for _, c := range []struct {
		name, public string
		keys         telegram.Options
		want         string
	}{
		{"no token", "", telegram.Options{}, "token"},
		{"half a token", "", telegram.Options{Token: "secret-of-the-bot-abcdefghijk"}, "token"},
		{"a token with a blank", "", telegram.Options{Token: token + " "}, "token"},
		{"a limit that Telegram has not", "", telegram.Options{Token: token, Limit: 4097}, "limit"},
		{"a limit below one", "", telegram.Options{Token: token, Limit: -1}, "limit"},
		{"an address without a scheme", "", telegram.Options{Token: token, Base: "api.example"}, "api_base"},
		{"an address of files", "", telegram.Options{Token: token, Base: "file:///x"}, "api_base"},
		{"an address with a query", "", telegram.Options{Token: token, Base: "http://api.example?x"}, "api_base"},
		{"a webhook that nobody reaches", "", telegram.Options{Token: token, Webhook: true}, "public_url"},
		{"a webhook without TLS", "http://verbatim.example", telegram.Options{Token: token, Webhook: true}, "public_url"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := telegram.Platform.New(surface.Setup{Name: "phone", Keys: telegram.KeysOf(c.keys), PublicURL: c.public})
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret-of") {
				t.Errorf("the error is %v", err)
			}
		})
	}
	if _, err := telegram.Platform.New(surface.Setup{Keys: struct{}{}}); err == nil {
		t.Error("other keys were taken")
	}
}

// TestKeysSayWhatTheyAre: the reference page is made of the tags.
func TestKeysSayWhatTheyAre(t *testing.T) {
	keys := reflect.TypeOf(telegram.Platform.Keys()).Elem()
	for i := range keys.NumField() {
		f := keys.Field(i)
		if f.Tag.Get("yaml") == "" || !strings.HasSuffix(f.Tag.Get("doc"), ".") {
			t.Errorf("%s has the tags %q", f.Name, f.Tag)
		}
		if (f.Name == "Token") != (f.Tag.Get("secret") == "true") {
			t.Errorf("%s is secret: %q", f.Name, f.Tag.Get("secret"))
		}
	}
}
