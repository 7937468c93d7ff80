package webhook

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"verbatim/internal/surface"
)

func TestConfigurationErrorsNameTheKey(t *testing.T) {
	t.Parallel()
	const where = "https://far.example/" + urlToken
	for name, c := range map[string]struct {
		set  func(k *keys)
		want string
	}{
		"nothing is set":         {func(*keys) {}, "secret"},
		"an unknown signature":   {func(k *keys) { k.Secret, k.Signature = inSecret, "md5" }, "signature"},
		"a secret not of svix":   {func(k *keys) { k.Secret, k.Signature = "whsec_???", signedSvix }, "secret"},
		"an empty one of svix":   {func(k *keys) { k.Secret, k.Signature = "whsec_", signedSvix }, "secret"},
		"a path with a hole":     {func(k *keys) { k.Secret, k.Map.Text = inSecret, "a..b" }, "map.text"},
		"a path that ends early": {func(k *keys) { k.Secret, k.Map.Thread = inSecret, "a." }, "map.thread"},
		"no address":             {func(k *keys) { k.Secret, k.Deliver.Secret = inSecret, outSecret }, "deliver.url"},
		"no key for posts":       {func(k *keys) { k.Deliver.URL = where }, "deliver.secret"},
		"another scheme":         {func(k *keys) { k.Deliver.URL, k.Deliver.Secret = "ftp://far.example/"+urlToken, outSecret }, "deliver.url"},
		"no scheme":              {func(k *keys) { k.Deliver.URL, k.Deliver.Secret = "far.example/"+urlToken, outSecret }, "deliver.url"},
		"no host":                {func(k *keys) { k.Deliver.URL, k.Deliver.Secret = "https:///"+urlToken, outSecret }, "deliver.url"},
		"no address at all":      {func(k *keys) { k.Deliver.URL, k.Deliver.Secret = "https://far.example/%zz"+urlToken, outSecret }, "deliver.url"},
		"a limit of nothing":     {func(k *keys) { k.Deliver = deliver{URL: where, Secret: outSecret} }, "deliver.limit"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := Platform.Keys().(*keys)
			c.set(k)
			_, err := Platform.New(surface.Setup{Name: "alerts", Keys: k, Now: time.Now, Client: http.DefaultClient, Guarded: http.DefaultClient})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("the error is %v, and does not name %s", err, c.want)
			}
			for _, secret := range []string{inSecret, outSecret, urlToken} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("a secret is in %q", err)
				}
			}
		})
	}
}

func TestCapsFollowTheConfiguration(t *testing.T) {
	t.Parallel()
	k := Platform.Keys().(*keys)
	k.Deliver = deliver{URL: "https://far.example/", Secret: outSecret, Idempotent: true, Limit: 77}
	want := surface.Caps{Size: surface.Size{Max: 77, Unit: surface.CodePoints}, Idempotent: true}
	if got := build(t, k).Caps(); got != want {
		t.Errorf("it can %+v, not %+v", got, want)
	}
}

// Whoever reads the reference page learns of every key what it does, and the
// defaults there are those that hold.
func TestKeysAreDocumented(t *testing.T) {
	t.Parallel()
	var look func(v reflect.Value)
	look = func(v reflect.Value) {
		for i := range v.NumField() {
			f, tag := v.Field(i), v.Type().Field(i).Tag
			if tag.Get("yaml") == "" || tag.Get("doc") == "" {
				t.Errorf("%s has no name or no sentence", v.Type().Field(i).Name)
			}
			if f.Kind() == reflect.Struct {
				look(f)
				continue
			}
			if want := tag.Get("default"); !f.IsZero() && want == "" {
				t.Errorf("%s is %v without a default", tag.Get("yaml"), f)
			}
		}
	}
	k := Platform.Keys()
	look(reflect.ValueOf(k).Elem())
	if got := k.(*keys); got.Signature != "verbatim" || got.Deliver.Limit != 16384 {
		t.Errorf("the defaults are %+v", got)
	}
}

func TestListenWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	k := Platform.Keys().(*keys)
	k.Secret = inSecret
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := build(t, k).Listen(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}
