package config

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file whose every line is uncommented says the same as no file.
func TestDefaultFileChangesNothing(t *testing.T) {
	var b bytes.Buffer
	if err := WriteDefault(&b); err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?m)^#([a-z_]+:)`).ReplaceAllString(b.String(), "$1")
	all = strings.Replace(all, "\ndata:", "\n#data:", 1)
	dir, _ := write(t, FileName, all)
	got, err := Load(Source{Flags: map[string]string{"data": dir}})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Data = dir
	if diff := cmp.Diff(texts(got.Config), texts(want)); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

func texts(c Config) map[string]string {
	m := map[string]string{}
	for _, k := range Keys() {
		m[k.Name] = k.Text(c)
	}
	return m
}

func TestEveryKeyIsDocumented(t *testing.T) {
	for _, k := range Keys() {
		if !regexp.MustCompile(`^[a-z_]+$`).MatchString(k.Name) {
			t.Errorf("%q is no name for a key", k.Name)
		}
		if !strings.HasSuffix(k.Doc, ".") || len(k.Doc) < 20 {
			t.Errorf("%s: no sentence explains it: %q", k.Name, k.Doc)
		}
		switch k.Kind() {
		case "duration", "number", "whole number":
			if k.Min == "" || k.Max == "" {
				t.Errorf("%s: unbounded", k.Name)
			}
		}
	}
}

func TestEffectiveHidesSecrets(t *testing.T) {
	got, err := Load(Source{Env: []string{"HOME=" + t.TempDir(), "VERBATIM_API_KEY=sk-secret", "VERBATIM_ALLOW_HOSTS=a,b"}})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := got.WriteEffective(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "sk-secret") {
		t.Error("the secret is shown")
	}
	for _, want := range []string{
		"api_key: \"****\"  # VERBATIM_API_KEY\n",
		"allow_hosts: [a, b]  # VERBATIM_ALLOW_HOSTS\n",
		"keep_alive: 15s  # default\n",
		"temperature: null  # default\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("missing %q in\n%s", want, b.String())
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"addr", "data", "model"}
	for name, want := range map[string]string{"adr": "addr", "modell": "model", "mdoel": "model", "x": "", "surprise": ""} {
		if got := nearest(name, known); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
