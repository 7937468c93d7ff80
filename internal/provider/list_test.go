package provider_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/provider"
)

func TestList(t *testing.T) {
	var asked []string
	answer, status := `{"data":[{"id":"b"},{"id":"a:1"},{"id":""},{"id":"b"},{"id":"text-embedding"}]}`, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path+" "+r.Header.Get("Authorization"))
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	defer server.Close()
	cfg := provider.Config{BaseURL: server.URL + "/v1/", APIKey: "sk-secret"}

	got, err := provider.List(t.Context(), "openai", cfg)
	if diff := cmp.Diff([]string{"openai/a:1", "openai/b", "openai/text-embedding"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"/v1/models Bearer sk-secret"}, asked); diff != "" {
		t.Error(diff)
	}
	for _, row := range []struct {
		name, answer string
		status       int
	}{
		{"an error that repeats the key", `{"error":"no such key: sk-secret"}`, 401},
		{"no JSON", "<html>", 200},
		{"another place", "", 302},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer, status = row.answer, row.status
			got, err := provider.List(t.Context(), "openai", cfg)
			if err == nil || len(got) > 0 || strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	t.Run("nobody is there", func(t *testing.T) {
		server.Close()
		if got, err := provider.List(t.Context(), "ollama", cfg); err == nil || len(got) > 0 {
			t.Errorf("got %v, %v", got, err)
		}
	})
	t.Run("without a key OpenAI is not asked", func(t *testing.T) {
		if _, err := provider.List(t.Context(), "openai", provider.Config{}); !errors.Is(err, provider.ErrNoKey) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("no address", func(t *testing.T) {
		if _, err := provider.List(t.Context(), "openai", provider.Config{BaseURL: "::"}); err == nil {
			t.Error("it was asked")
		}
	})
}

func TestUnusableKeysAreNamed(t *testing.T) {
	got := provider.Unusable(func(name string) string {
		if name == "ANTHROPIC_API_KEY" || name == "GEMINI_API_KEY_FILE" {
			return "x"
		}
		return ""
	})
	if len(got) != 2 || !strings.Contains(got["anthropic"], "ANTHROPIC_API_KEY") || !strings.Contains(got["gemini"], "GEMINI_API_KEY") {
		t.Errorf("got %v", got)
	}
}
