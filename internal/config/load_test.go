package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// write puts text into a new file of a new directory and returns both.
func write(t *testing.T, name, text string) (dir, file string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, file
}

func TestLoadPrecedence(t *testing.T) {
	dir, file := write(t, FileName, "log_level: error\n")
	flags := map[string]string{"data": dir}
	env := []string{"VERBATIM_LOG_LEVEL=warn"}
	withFlag := map[string]string{"data": dir, "log_level": "debug"}
	for _, tc := range []struct {
		name       string
		src        Source
		want, from string
	}{
		{"default", Source{Flags: map[string]string{"data": t.TempDir()}}, "info", ""},
		{"file over default", Source{Flags: flags}, "error", file + ":1"},
		{"variable over file", Source{Flags: flags, Env: env}, "warn", "VERBATIM_LOG_LEVEL"},
		{"flag over variable", Source{Flags: withFlag, Env: env}, "debug", "--log-level"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Load(tc.src)
			if err != nil {
				t.Fatal(err)
			}
			if got.LogLevel != tc.want || got.From["log_level"] != tc.from {
				t.Errorf("got %q from %q, want %q from %q", got.LogLevel, got.From["log_level"], tc.want, tc.from)
			}
		})
	}
}

func TestLoadReadsEveryKind(t *testing.T) {
	_, file := write(t, "any.yaml", `
addr: "[::1]:80"
insecure_listen: true
allow_hosts: [a.example, b.example]
temperature: 0.5
max_tokens: 100
top_p:
keep_alive: 20s
ballast_bytes: 0
trusted_proxies: 10.0.0.1, 10.1.0.0/16
system_prompt: |
  Two lines,
  kept as they are.
`)
	got, err := Load(Source{File: file, Env: []string{"HOME=/home/x"}})
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	temperature, tokens := 0.5, int64(100)
	want.Addr, want.InsecureListen = "[::1]:80", true
	want.AllowHosts = []string{"a.example", "b.example"}
	want.Temperature, want.MaxTokens = &temperature, &tokens
	want.KeepAlive, want.BallastBytes = 20*time.Second, 0
	want.TrustedProxies = []string{"10.0.0.1", "10.1.0.0/16"}
	want.SystemPrompt = "Two lines,\nkept as they are.\n"
	want.Data = got.Data
	if diff := cmp.Diff(got.Config, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		env        []string
		want       []string
	}{
		{name: "unknown key", file: "adr: x\n", want: []string{`F:1: unknown key "adr"; did you mean addr?`}},
		{name: "unknown key far from all", file: "\nsurprise: x\n", want: []string{`F:2: unknown key "surprise"`}},
		{name: "wrong kind", file: "keep_alive: soon\n", want: []string{`F:1: keep_alive: want a duration such as 15s or 2m, got "soon"`}},
		{name: "a map for a text", file: "addr: {a: b}\n", want: []string{"F:1: addr: want text, got a list or a map"}},
		{name: "a map for a list", file: "allow_hosts: {a: b}\n", want: []string{"F:1: allow_hosts: want a list of texts"}},
		{name: "out of bounds", file: "temperature: 3\n", want: []string{"F:1: temperature: want 0 to 2, got 3"}},
		{name: "not a number at all", file: "temperature: .nan\n", want: []string{`F:1: temperature: want a number, got ".nan"`}},
		{name: "NaN", env: []string{"VERBATIM_TEMPERATURE=NaN"}, want: []string{"VERBATIM_TEMPERATURE: want 0 to 2, got NaN"}},
		{name: "not one of", file: "log_format: xml\n", want: []string{`F:1: log_format: want one of text, json, got "xml"`}},
		{name: "not true or false", file: "insecure_listen: yes\n", want: []string{`F:1: insecure_listen: want true or false, got "yes"`}},
		{name: "set twice", file: "addr: 127.0.0.1:1\naddr: 127.0.0.1:2\n", want: []string{"F:2: addr is set twice"}},
		{name: "a list, not keys", file: "- a\n", want: []string{"F:1: want lines of the form key: value"}},
		{name: "no YAML", file: "a: [\n", want: []string{"F: not valid YAML:"}},
		{name: "all that is wrong at once", file: "adr: x\nlog_level: loud\n", want: []string{"F:1:", "F:2:"}},
		{name: "variable and file form", env: []string{"VERBATIM_MODEL=a/b", "VERBATIM_MODEL_FILE=/x"}, want: []string{"VERBATIM_MODEL: set together with VERBATIM_MODEL_FILE"}},
		{name: "file form without file", env: []string{"VERBATIM_API_KEY_FILE=/nowhere"}, want: []string{"VERBATIM_API_KEY_FILE: /nowhere can't be read: no such file"}},
		{name: "no port", file: "addr: localhost\n", want: []string{`F:1: want an address of the form host:port, got "localhost"`}},
		{name: "port too high", file: "addr: localhost:70000\n", want: []string{`F:1: want a port from 0 to 65535, got "70000"`}},
		{name: "public bind", file: "addr: 0.0.0.0:80\n", want: []string{"F:1: 0.0.0.0:80 can be reached from other machines"}},
		{name: "public bind, no host", file: "addr: :80\n", want: []string{"can be reached from other machines"}},
		{name: "public bind, IPv6", file: "addr: '[::]:80'\n", want: []string{"can be reached from other machines"}},
		{name: "public bind by name", file: "addr: box.example:80\n", want: []string{"can be reached from other machines"}},
		{name: "half a TLS pair", file: "tls_cert: a.pem\n", want: []string{"tls_cert and tls_key belong together"}},
		{name: "public URL without scheme", file: "public_url: chat.example.org\n", want: []string{"F:1: want an address such as https://chat.example.org"}},
		{name: "public URL with a path of its own", file: "public_url: https://a.example/b\n", want: []string{"F:1: want scheme and host only"}},
		{name: "base URL", file: "base_url: 127.0.0.1:80\n", want: []string{"F:1: want an address such as http://127.0.0.1:8080/v1"}},
		{name: "base path", file: "base_path: chat/\n", want: []string{`F:1: want a path such as /chat, got "chat/"`}},
		{name: "host with port", file: "allow_hosts: [a.example:80]\n", want: []string{"F:1: want a host name without scheme, port or wildcard"}},
		{name: "origin with a path", file: "allow_origins: [https://a.example/]\n", want: []string{"F:1: want an origin of the form scheme://host[:port]"}},
		{name: "proxy by name", file: "trusted_proxies: [proxy]\n", want: []string{"F:1: want an address or a network"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, file := write(t, "any.yaml", tc.file)
			_, err := Load(Source{File: file, Env: append(tc.env, "HOME=/home/x")})
			if err == nil {
				t.Fatal("got no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), strings.ReplaceAll(want, "F:", file+":")) {
					t.Errorf("got %q, want it to say %q", err, want)
				}
			}
		})
	}
}

func TestLoadTakesSafeBinds(t *testing.T) {
	for name, text := range map[string]string{
		"loopback":         "addr: 127.0.0.9:0\n",
		"loopback by name": "addr: localhost:0\n",
		"loopback, IPv6":   "addr: '[::1]:0'\n",
		"with TLS":         "addr: 0.0.0.0:443\ntls_cert: a\ntls_key: b\n",
		"with the flag":    "addr: 0.0.0.0:80\ninsecure_listen: true\n",
	} {
		t.Run(name, func(t *testing.T) {
			_, file := write(t, "any.yaml", text)
			if _, err := Load(Source{File: file, Env: []string{"HOME=/home/x"}}); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestLoadFiles(t *testing.T) {
	t.Run("one that is named must exist", func(t *testing.T) {
		_, err := Load(Source{File: filepath.Join(t.TempDir(), "none.yaml")})
		if err == nil || !strings.Contains(err.Error(), "none.yaml: the configuration file can't be read") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("the one in the data directory may not move it", func(t *testing.T) {
		dir, _ := write(t, FileName, "data: /elsewhere\n")
		_, err := Load(Source{Flags: map[string]string{"data": dir}})
		if err == nil || !strings.Contains(err.Error(), "can't be set in the file inside the data directory") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a variable names it", func(t *testing.T) {
		dir, file := write(t, "mine.yaml", "data: /elsewhere\n")
		got, err := Load(Source{Env: []string{"VERBATIM_CONFIG=" + file, "VERBATIM_DATA_FILE=", "HOME=" + dir}[:1]})
		if err != nil || got.Data != "/elsewhere" || got.File != file {
			t.Errorf("got %+v, %v", got, err)
		}
	})
	t.Run("empty and comment-only files are fine", func(t *testing.T) {
		_, file := write(t, "mine.yaml", "# nothing\n")
		if _, err := Load(Source{File: file, Env: []string{"HOME=/h"}}); err != nil {
			t.Error(err)
		}
	})
}

func TestLoadSecretFromFileKeepsText(t *testing.T) {
	_, file := write(t, "key", " sk-é \n")
	got, err := Load(Source{Env: []string{"HOME=" + t.TempDir(), "VERBATIM_API_KEY_FILE=" + file}})
	if err != nil {
		t.Fatal(err)
	}
	if got.APIKey != " sk-é " {
		t.Errorf("got %q", got.APIKey)
	}
}

func TestLoadNotesStrangeVariables(t *testing.T) {
	got, err := Load(Source{Env: []string{"HOME=" + t.TempDir(), "VERBATIM_ADR=x", "PATH=/"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"the variable VERBATIM_ADR names no setting; did you mean VERBATIM_ADDR?"}
	if diff := cmp.Diff(got.Notes, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

func TestDataDir(t *testing.T) {
	for _, tc := range []struct {
		name string
		env  environment
		want string
	}{
		{"none", nil, ""},
		{"XDG", environment{"HOME=/h", "XDG_DATA_HOME=/x"}, "/x/verbatim"},
		{"a relative XDG is ignored", environment{"XDG_DATA_HOME=x"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.env.dataDir(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
