package provider

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"verbatim/internal/llm"
	"verbatim/internal/provider/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(path, []byte(":text \"hello\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, model, wrong string
	}{
		{"openai/gpt-5-mini", "gpt-5-mini", ""},
		{"openai/vendor/model:free", "vendor/model:free", ""},
		{"ollama/llama3:8b", "llama3:8b", ""},
		{script.Builtin, "", ""},
		{"script:" + path, path, ""},
		{"script/" + path, path, ""},
		{"gpt-5-mini", "", `no such model as "gpt-5-mini": a name is one of`},
		{"openai", "", `no such model as "openai": after openai/ comes`},
		{"openai/", "", `no such model as "openai/": after openai/ comes`},
		{"", "", `no such model as ""`},
		{"anthropic/x", "", `no such model as "anthropic/x"`},
		{"script:/no/such/file", "", "open the model"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m, name, err := Open(test.name, Config{})
			if test.wrong != "" {
				if err == nil || !strings.HasPrefix(err.Error(), test.wrong) {
					t.Errorf("got %v, want %q", err, test.wrong)
				}
				return
			}
			if err != nil || name != test.model {
				t.Fatalf("got %q and %v, want %q", name, err, test.model)
			}
			if err := m.(io.Closer).Close(); err != nil {
				t.Error(err)
			}
		})
	}
	if _, _, err := Open("nobody/x", Config{}); !errors.Is(err, ErrName) {
		t.Errorf("got %v, want ErrName", err)
	}
	if _, _, err := Open("openai/x", Config{BaseURL: "nonsense"}); err == nil {
		t.Error("a base URL that is none was taken")
	}
}

func TestOpenedScriptPlays(t *testing.T) {
	m, name, err := Open(script.Builtin, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for c, err := range m.Stream(t.Context(), llm.Request{Model: name, Messages: []llm.Message{{Role: llm.RoleUser, Text: "hi"}}}) {
		if err != nil || c.Reasoning == "" {
			t.Errorf("got %+v and %v, want reasoning first", c, err)
		}
		break
	}
	if err := m.(io.Closer).Close(); err != nil {
		t.Error(err)
	}
}

// ollama is a server with these tags.
func ollama(t *testing.T, body string, status int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/tags" {
			t.Errorf("asked for %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestChoose(t *testing.T) {
	dir := t.TempDir()
	keyFile := filepath.Join(dir, "key")
	if err := os.WriteFile(keyFile, []byte("sk-from-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer silent.Close()
	nobody := "127.0.0.1:1"
	withModel := ollama(t, `{"models":[{"name":"llama3:8b"},{"name":"other"}]}`, 200)
	const anthropic = "ANTHROPIC_API_KEY is set, but this version can't talk to that provider yet; the key is not used"
	const baseOnly = "OPENAI_BASE_URL is set without OPENAI_API_KEY; name the model to use that server, as openai/NAME"
	demo := Choice{Name: script.Builtin}
	tests := []struct {
		name  string
		env   map[string]string
		want  Choice
		notes []string
	}{
		{"nothing", map[string]string{"OLLAMA_HOST": nobody}, demo, nil},
		{"a key", map[string]string{"OPENAI_API_KEY": "sk-a"}, Choice{"openai/gpt-5-mini", Config{APIKey: "sk-a"}}, nil},
		{"a key and a server", map[string]string{"OPENAI_API_KEY": "sk-a", "OPENAI_BASE_URL": "http://h/v1"}, Choice{"openai/gpt-5-mini", Config{APIKey: "sk-a", BaseURL: "http://h/v1"}}, nil},
		{"a key in a file", map[string]string{"OPENAI_API_KEY_FILE": keyFile}, Choice{"openai/gpt-5-mini", Config{APIKey: "sk-from-file"}}, nil},
		{"a file that is not there", map[string]string{"OPENAI_API_KEY_FILE": dir + "/none", "OLLAMA_HOST": nobody}, demo,
			[]string{"OPENAI_API_KEY_FILE can't be read, so it is not used: open " + dir + "/none: no such file or directory"}},
		{"a server without a key", map[string]string{"OPENAI_BASE_URL": "http://h/v1", "OLLAMA_HOST": nobody}, demo, []string{baseOnly}},
		{"another provider's key", map[string]string{"ANTHROPIC_API_KEY": "x", "OLLAMA_HOST": nobody}, demo, []string{anthropic}},
		{"a key before another's", map[string]string{"ANTHROPIC_API_KEY_FILE": "x", "OPENAI_API_KEY": "sk-a"}, Choice{"openai/gpt-5-mini", Config{APIKey: "sk-a"}}, []string{anthropic}},
		{"ollama", map[string]string{"OLLAMA_HOST": withModel}, Choice{"ollama/llama3:8b", Config{BaseURL: withModel + "/v1"}}, nil},
		{"ollama without a model", map[string]string{"OLLAMA_HOST": ollama(t, `{"models":[]}`, 200)}, demo, nil},
		{"something else at its place", map[string]string{"OLLAMA_HOST": ollama(t, `<html>`, 200)}, demo, nil},
		{"an error at its place", map[string]string{"OLLAMA_HOST": ollama(t, `{}`, 500)}, demo, nil},
		{"ollama that does not answer", map[string]string{"OLLAMA_HOST": silent.URL}, demo, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, notes := Choose(t.Context(), func(name string) string { return test.env[name] })
			if diff := cmp.Diff(got, test.want); diff != "" {
				t.Errorf("choice (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(notes, test.notes); diff != "" {
				t.Errorf("notes (-got +want):\n%s", diff)
			}
		})
	}
}

func TestOllamaAddress(t *testing.T) {
	for host, want := range map[string]string{
		"": "http://127.0.0.1:11434", "0.0.0.0": "http://127.0.0.1:11434", ":8080": "http://127.0.0.1:8080",
		"[::]:1": "http://127.0.0.1:1", "[::1]": "http://[::1]:11434", "box:9": "http://box:9",
		"https://box/x/": "https://box:443/x", "ftp://box": "http://127.0.0.1:11434",
	} {
		if got := ollamaAddress(host); got != want {
			t.Errorf("%q: got %q, want %q", host, got, want)
		}
	}
}
