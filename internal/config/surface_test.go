package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"verbatim/internal/surface"
)

// toyKeys are those of a platform that has every kind of key.
type toyKeys struct {
	Site   string        `yaml:"site" doc:"Where it is."`
	Key    string        `yaml:"key" secret:"true" doc:"The key."`
	Limit  int           `yaml:"limit" default:"100" doc:"The most."`
	Pause  time.Duration `yaml:"pause" default:"2s" doc:"The pause."`
	Loud   bool          `yaml:"loud" default:"true" doc:"Loud."`
	Rooms  []string      `yaml:"rooms" doc:"Rooms."`
	Target struct {
		URL    string `yaml:"url" doc:"Where to."`
		Secret string `yaml:"secret" secret:"true" doc:"The key there."`
	} `yaml:"target" doc:"The target."`
}

var toy = surface.Platform{Name: "toy", Doc: "A toy.", Keys: func() any { return new(toyKeys) }}

func loadSurfaces(t *testing.T, text string, env ...string) (*Loaded, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "verbatim.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := Load(Source{File: file, Env: append(env, "HOME="+t.TempDir()), Platforms: []surface.Platform{toy, {Name: "other"}}})
	if err != nil {
		return nil, strings.ReplaceAll(err.Error(), file, "FILE")
	}
	return l, ""
}

func TestSurfaces(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("from a file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, problem := loadSurfaces(t, `
surfaces:
  team:
    platform: toy
    site: https://chat.example.org
    key_env: TOY_KEY
    rooms: [general, 42]
    loud: false
    target: {url: "http://127.0.0.1/in", secret_file: `+secret+`}
    show: {reasoning: code, tools: nothing}
    streaming: off
    edit_interval: 2s
    may_talk: [123456, "*"]
  quiet:
    platform: toy
`, "TOY_KEY=from a variable")
	if problem != "" {
		t.Fatal(problem)
	}
	team, quiet := l.Surfaces["team"], l.Surfaces["quiet"]
	keys, ok := team.Keys.(*toyKeys)
	if !ok {
		t.Fatalf("keys are %T", team.Keys)
	}
	if keys.Key != "from a variable" || keys.Target.Secret != "from a file" || keys.Target.URL != "http://127.0.0.1/in" {
		t.Errorf("secrets and nested keys: %+v", keys)
	}
	if strings.Join(keys.Rooms, " ") != "general 42" || keys.Loud || keys.Limit != 100 || keys.Pause != 2*time.Second {
		t.Errorf("keys of the platform: %+v", keys)
	}
	if team.Name != "team" || team.Show != (Show{"code", "nothing", "full"}) || team.Streaming != "off" || team.EditInterval != 2*time.Second {
		t.Errorf("keys of every surface: %+v", team)
	}
	if strings.Join(team.MayTalk, " ") != "123456 *" {
		t.Errorf("may_talk: %q", team.MayTalk)
	}
	if quiet.Show != (Show{"none", "truncated", "full"}) || quiet.Streaming != "auto" || quiet.BufferThreshold != 24 || !quiet.Echo || quiet.MaxAge != 24*time.Hour {
		t.Errorf("defaults: %+v", quiet)
	}
}

func TestSurfacesThatAreWrong(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no platform", "surfaces:\n  a:\n    site: x\n", `FILE:2: the surface a: platform must be one of toy, other, got ""`},
		{"a platform that is not there", "surfaces:\n  a: {platform: irc}\n", `FILE:2: the surface a: platform must be one of toy, other, got "irc"`},
		{"a key that is not there", "surfaces:\n  a:\n    platform: toy\n    sitte: x\n", `FILE:4: a: unknown key "sitte"; did you mean site?`},
		{"a key below another that is not there", "surfaces:\n  a:\n    platform: toy\n    target:\n      ur: x\n", `FILE:5: a.target: unknown key "ur"`},
		{"a key twice", "surfaces:\n  a:\n    platform: toy\n    key: x\n    key_env: HOME\n", `FILE:5: a.key is set twice`},
		{"a variable that is not set", "surfaces:\n  a:\n    platform: toy\n    key_env: NO_SUCH\n", `FILE:4: a.key_env: the variable NO_SUCH is not set`},
		{"a number that is none", "surfaces:\n  a:\n    platform: toy\n    limit: many\n", `FILE:4: a.limit: want a whole number, got "many"`},
		{"a choice that is none", "surfaces:\n  a:\n    platform: toy\n    show: {tools: all}\n", `FILE:4: a.show.tools: want one of everything, truncated, nothing, got "all"`},
		{"a list where a text belongs", "surfaces:\n  a:\n    platform: toy\n    site: [x]\n", `FILE:4: a.site: want text, got a list or a map`},
		{"a name that is our own", "surfaces:\n  web: {platform: toy}\n", `"web" can't name a surface`},
		{"a name with a dot", "surfaces:\n  a.b: {platform: toy}\n", `"a.b" can't name a surface`},
		{"no map", "surfaces: [a]\n", `FILE:1: surfaces: want a name and below it the keys of a surface`},
		{"an interval out of bounds", "surfaces:\n  a:\n    platform: toy\n    edit_interval: 1ms\n", `FILE:4: a.edit_interval: want 100ms to 1m, got 1ms`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, problem := loadSurfaces(t, c.text)
			if !strings.Contains(problem, c.want) {
				t.Errorf("got %q\nwant %q in it", problem, c.want)
			}
		})
	}
}

// A secret is in no message, whatever is wrong beside it.
func TestSecretsOfSurfacesAreNotTold(t *testing.T) {
	_, problem := loadSurfaces(t, "surfaces:\n  a:\n    platform: toy\n    key: hunter2\n    nothing: 1\n")
	if problem == "" || strings.Contains(problem, "hunter2") {
		t.Errorf("got %q", problem)
	}
}
