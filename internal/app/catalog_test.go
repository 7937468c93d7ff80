package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/config"
	"verbatim/internal/httpapi"
)

func TestCatalog(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		fmt.Fprint(w, `{"data":[{"id":"small"},{"id":"big"}]}`)
	}))
	defer server.Close()
	env := map[string]string{"OPENAI_API_KEY": "sk-env", "OPENAI_BASE_URL": server.URL + "/v1", "OLLAMA_HOST": "127.0.0.1:1", "GEMINI_API_KEY": "g"}
	build := func(settings memory) *catalog {
		m := &models{
			settings: &chat.Settings{Store: settings, Defaults: settingDefaults(config.Config{Model: "openai/big"})},
			env:      func(name string) string { return env[name] }, open: map[opening]chat.Choice{},
		}
		t.Cleanup(func() {
			if err := m.close(); err != nil {
				t.Error(err)
			}
		})
		return newCatalog(m)
	}
	names := func(c *catalog) (runs, not []string) {
		list, err := c.Models(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range list {
			if m.Current != (i == 0) || m.Available == (m.Reason != "") || strings.Contains(m.Reason, "sk-") {
				t.Errorf("line %d: %+v", i, m)
			}
			if m.Available {
				runs = append(runs, m.Name)
				continue
			}
			not = append(not, m.Name)
		}
		return runs, not
	}
	t.Run("what is there", func(t *testing.T) {
		c := build(memory{})
		now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		c.now = func() time.Time { return now }
		for range 2 {
			runs, not := names(c)
			if diff := cmp.Diff([]string{"openai/big", "demo", "openai/small"}, runs); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{"gemini", "ollama"}, not); diff != "" {
				t.Error(diff)
			}
		}
		if asked != 1 {
			t.Errorf("the server was asked %d times in a minute", asked)
		}
		now = now.Add(listedFor)
		names(c)
		if asked != 2 {
			t.Errorf("the server was asked %d times in two minutes", asked)
		}
	})
	t.Run("a model that is none", func(t *testing.T) {
		list, err := build(memory{"model": `"nobody/x"`}).Models(t.Context())
		if err != nil || list[0].Name != "nobody/x" || list[0].Available || !list[0].Current || list[0].Reason == "" {
			t.Errorf("first line = %+v, %v", list[0], err)
		}
	})
	t.Run("no key", func(t *testing.T) {
		env = map[string]string{"OLLAMA_HOST": "127.0.0.1:1"}
		list, err := build(memory{"model": `"demo"`}).Models(t.Context())
		want := []httpapi.Model{
			{Name: "demo", Available: true, Current: true},
			{Name: "ollama", Reason: "It can't be used: its server does not answer."},
			{Name: "openai", Reason: "It can't be used: there is no key for it: set OPENAI_API_KEY, or api_key in the settings."},
		}
		if diff := cmp.Diff(want, list); diff != "" || err != nil {
			t.Errorf("%v %s", err, diff)
		}
	})
}
