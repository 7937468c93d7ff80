package app

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"verbatim/internal/chat"
	"verbatim/internal/client"
	"verbatim/internal/config"
	"verbatim/internal/provider"
)

func field(t *testing.T, e client.Event, name string) string {
	t.Helper()
	var data map[string]any
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatal(err)
	}
	s, _ := data[name].(string)
	return s
}

func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), tokenName)
	made, err := loadToken(path)
	if err != nil || len(made) < 26 {
		t.Fatalf("got %q, %v", made, err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := loadToken(path)
	if err != nil || again != made {
		t.Errorf("got %q, %v, want %q", again, err, made)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("others can read it: %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadToken(path); err == nil || !strings.Contains(err.Error(), "shorter than 20") {
		t.Errorf("got %v", err)
	}
}

// memory is a store of settings.
type memory map[string]string

func (m memory) Settings(context.Context) (map[string]string, error) { return m, nil }

func (m memory) SetSettings(_ context.Context, changes map[string]*string) error {
	for k, v := range changes {
		m[k] = *v
	}
	return nil
}

// What a model is opened with: settings before the configuration, that before
// the environment; and a key goes only to the server that it is for.
func TestOpening(t *testing.T) {
	env := map[string]string{"OPENAI_API_KEY": "sk-env", "OPENAI_BASE_URL": "http://env.example/v1"}
	for _, tc := range []struct {
		name     string
		cfg      config.Config
		settings memory
		want     opening
	}{
		{
			name: "the environment",
			cfg:  config.Config{Model: "openai/a"},
			want: opening{"openai/a", provider.Config{BaseURL: "http://env.example/v1", APIKey: "sk-env"}},
		},
		{
			name: "the configuration",
			cfg:  config.Config{Model: "openai/a", BaseURL: "http://cfg.example/v1", APIKey: "sk-cfg"},
			want: opening{"openai/a", provider.Config{BaseURL: "http://cfg.example/v1", APIKey: "sk-cfg"}},
		},
		{
			name:     "the settings",
			cfg:      config.Config{Model: "openai/a", BaseURL: "http://cfg.example/v1", APIKey: "sk-cfg"},
			settings: memory{"model": `"openai/b"`, "base_url": `"http://set.example/v1"`, "api_key": `"sk-set"`},
			want:     opening{"openai/b", provider.Config{BaseURL: "http://set.example/v1", APIKey: "sk-set"}},
		},
		{
			name: "the environment's key does not go to another server",
			cfg:  config.Config{Model: "openai/a", BaseURL: "http://other.example/v1"},
			want: opening{"openai/a", provider.Config{BaseURL: "http://other.example/v1"}},
		},
		{
			name:     "the configured key does not go to a server from the settings",
			cfg:      config.Config{Model: "openai/a", BaseURL: "http://cfg.example/v1", APIKey: "sk-cfg"},
			settings: memory{"base_url": `"http://set.example/v1"`},
			want:     opening{"openai/a", provider.Config{BaseURL: "http://set.example/v1"}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &models{
				settings: &chat.Settings{Store: tc.settings, Defaults: settingDefaults(tc.cfg)},
				env:      func(name string) string { return env[name] },
				log:      slog.New(slog.DiscardHandler),
			}
			v, err := m.values(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got, err := m.opening(v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, tc.want, cmp.AllowUnexported(opening{})); diff != "" {
				t.Errorf("(-got +want)\n%s", diff)
			}
		})
	}
}

// A change of settings counts from the next run on, and one that can't work
// fails that run with a sentence instead of stopping the server.
func TestSettingsCountFromTheNextRun(t *testing.T) {
	cfg := testConfig(t, ":else\n:text\nFirst.\n")
	second := "script:" + writeFile(t, "second.txt", ":else\n:text\nSecond.\n")
	a := start(t, cfg, Options{Private: true})
	defer stopApp(t, a)
	c := a.Client()
	defer c.HTTP.CloseIdleConnections()
	set := func(model string) {
		raw, err := json.Marshal(model)
		if err != nil {
			t.Fatal(err)
		}
		if err := a.models.settings.Set(t.Context(), map[string]json.RawMessage{"model": raw}); err != nil {
			t.Fatal(err)
		}
	}
	if text, _ := answer(t, c, client.Prompt{Text: "hi", Run: "r1"}); text != "First." {
		t.Errorf("got %q", text)
	}
	set(second)
	if text, _ := answer(t, c, client.Prompt{Text: "hi", Run: "r2"}); text != "Second." {
		t.Errorf("got %q", text)
	}
	if got := a.Model(t.Context()); got != second {
		t.Errorf("got %q, want %q", got, second)
	}
	set("nobody/x")
	text, names := answer(t, c, client.Prompt{Text: "hi", Run: "r3"})
	if text != "" || names[len(names)-1] != "error" {
		t.Errorf("got %q, events %v", text, names)
	}
}

func TestClockFindings(t *testing.T) {
	for _, tc := range []struct {
		name   string
		newest time.Time
		ok     bool
	}{
		{"nothing stored", time.Time{}, true},
		{"older", time.Now().Add(-time.Hour), true},
		{"a little ahead", time.Now().Add(10 * time.Second), true},
		{"set back", time.Now().Add(time.Hour), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := &diagnosis{newest: tc.newest}
			d.clock()
			if len(d.findings) != 1 || d.findings[0].OK != tc.ok {
				t.Errorf("got %+v", d.findings)
			}
		})
	}
}

func TestFiguresCount(t *testing.T) {
	a := start(t, testConfig(t, ":else\n:text\nHello.\n"), Options{Private: true})
	defer stopApp(t, a)
	c := a.Client()
	defer c.HTTP.CloseIdleConnections()
	answer(t, c, client.Prompt{Text: "hi", Run: "r1"})
	if err := a.chat.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := a.figures()
	head, err := a.log.Head(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	if got.Events != head || got.Commits < 1 || got.Commits > head || got.CommitSeconds <= 0 {
		t.Errorf("got %+v, want %d events", got, head)
	}
	if diff := cmp.Diff(got.Runs, map[string]int64{"end": 1}); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}
