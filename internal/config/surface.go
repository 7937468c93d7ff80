package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"verbatim/internal/surface"
)

// Surface is a chat platform as verbatim.yaml sets it up. Its tags are those of
// Config; keys of the platform's own stand beside these.
type Surface struct {
	// Name is its key below surfaces.
	Name string `yaml:"-"`

	Platform string `yaml:"platform" doc:"Which platform: see below."`
	Show     Show   `yaml:"show" doc:"What of a turn is posted."`

	Streaming       string        `yaml:"streaming" default:"auto" oneof:"auto on off" doc:"Posts grow while the answer is written: auto and on do that where the platform edits, and elsewhere post a long answer in pieces; off posts whole texts."`
	EditInterval    time.Duration `yaml:"edit_interval" default:"800ms" min:"100ms" max:"1m" doc:"The least time between two edits in a chat."`
	BufferThreshold int           `yaml:"buffer_threshold" default:"24" min:"1" max:"4000" doc:"How many new characters an edit waits for, for at most three seconds."`
	MaxAge          time.Duration `yaml:"max_age" default:"24h" min:"1m" max:"720h" doc:"What is older than this is announced in one line instead of being posted."`
	Echo            bool          `yaml:"echo" default:"true" doc:"Messages that came from elsewhere are posted as a quoted line."`
	NoAnswer        bool          `yaml:"no_answer" default:"true" doc:"A run that came to no answer is told in a line."`

	MayTalk      []string `yaml:"may_talk" doc:"Who may talk to the agent: ids as the platform has them, or * for everybody. Empty means nobody. A signed webhook needs no entry."`
	MayDecide    []string `yaml:"may_decide" doc:"Who may allow or deny what the agent asks. Empty means the person whose message it works on."`
	Conversation string   `yaml:"conversation" doc:"Which conversation a message belongs to, made of {{chat}}, {{thread}}, {{sender}} and, of a webhook, the mapped parts. Empty means one conversation a chat and thread; of a webhook, one for all."`

	// Keys is what the platform's Keys returned, filled in.
	Keys any `yaml:"-"`
}

// Show is what of a turn a surface posts.
type Show struct {
	Reasoning  string `yaml:"reasoning" default:"none" oneof:"none code blockquote subtext" doc:"How reasoning is posted."`
	Tools      string `yaml:"tools" default:"truncated" oneof:"everything truncated nothing" doc:"How much of a tool call is posted: truncated is one line."`
	Commentary string `yaml:"commentary" default:"full" oneof:"full none" doc:"Whether text before a tool call is posted."`
}

var surfaceName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// applySurfaces reads the part of the file that sets up chat platforms.
func (l *loader) applySurfaces(value *yaml.Node) {
	if value.Tag == "!!null" {
		return
	}
	if value.Kind != yaml.MappingNode {
		l.problem(l.at(value), "surfaces: want a name and below it the keys of a surface, for each")
		return
	}
	for i := 0; i+1 < len(value.Content); i += 2 {
		name, keys := value.Content[i], value.Content[i+1]
		if _, twice := l.Surfaces[name.Value]; twice {
			l.problem(l.at(name), "the surface %s is there twice", name.Value)
			continue
		}
		if !surfaceName.MatchString(name.Value) || reserved(name.Value) {
			l.problem(l.at(name), "%q can't name a surface: use up to 32 letters, digits, dashes and underscores, and not web, cli, api or system", name.Value)
			continue
		}
		if s, ok := l.surface(name, keys); ok {
			if l.Surfaces == nil {
				l.Surfaces = map[string]Surface{}
			}
			l.Surfaces[name.Value] = s
		}
	}
}

// reserved names are those of our own doors.
func reserved(name string) bool {
	return slices.Contains([]string{"web", "cli", "api", "system", "ws", "device"}, name)
}

func (l *loader) surface(name, keys *yaml.Node) (Surface, bool) {
	s := Surface{Name: name.Value}
	if keys.Kind != yaml.MappingNode {
		l.problem(l.at(name), "the surface %s has no keys; it needs at least platform", name.Value)
		return s, false
	}
	platform := ""
	for i := 0; i+1 < len(keys.Content); i += 2 {
		if keys.Content[i].Value == "platform" {
			platform = keys.Content[i+1].Value
		}
	}
	i := slices.IndexFunc(l.platforms, func(p surface.Platform) bool { return p.Name == platform })
	if i < 0 {
		var names []string
		for _, p := range l.platforms {
			names = append(names, p.Name)
		}
		l.problem(l.at(name), "the surface %s: platform must be one of %s, got %q", name.Value, strings.Join(names, ", "), platform)
		return s, false
	}
	s.Keys = l.platforms[i].Keys()
	l.fill(keys, name.Value, reflect.ValueOf(&s).Elem(), reflect.ValueOf(s.Keys).Elem())
	return s, true
}

// fill sets the fields of structs from a map, by the same rules as the keys of
// Config.
func (l *loader) fill(node *yaml.Node, path string, into ...reflect.Value) {
	fields := map[string]reflect.Value{}
	keys := map[string]Key{}
	var names []string
	for _, v := range into {
		for i := range v.NumField() {
			k := keyOf(v.Type().Field(i))
			if k.Name == "" || k.Name == "-" {
				continue
			}
			fields[k.Name], keys[k.Name] = v.Field(i), k
			names = append(names, k.Name)
			l.preset(k, v.Field(i))
		}
	}
	if node == nil {
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		base, how := secretForm(name.Value, keys)
		where := path + "." + base
		field, ok := fields[base]
		switch {
		case !ok:
			l.problem(l.at(name), "%s: unknown key %q%s", path, name.Value, didYouMean(name.Value, names))
		case seen[base]:
			l.problem(l.at(name), "%s is set twice", where)
		default:
			seen[base] = true
			l.fillOne(keys[base], field, value, where, how)
		}
	}
}

// preset gives a field its default.
func (l *loader) preset(k Key, field reflect.Value) {
	switch {
	case field.Kind() == reflect.Struct:
		l.fill(nil, k.Name, field)
	case k.Default != "":
		if err := k.parse(field, k.Default); err != nil {
			l.problem(k.Name, "the default is wrong: %v", err)
		}
	}
}

// secretForm takes the end off a key that says where to find a secret.
func secretForm(name string, keys map[string]Key) (base, how string) {
	for _, end := range []string{"_env", "_file"} {
		if base, ok := strings.CutSuffix(name, end); ok && keys[base].Secret {
			return base, end
		}
	}
	return name, ""
}

func (l *loader) fillOne(k Key, field reflect.Value, value *yaml.Node, where, how string) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	switch {
	case value.Tag == "!!null":
	case field.Kind() == reflect.Struct:
		if value.Kind != yaml.MappingNode {
			l.problem(l.at(value), "%s: want keys below it", where)
			return
		}
		l.fill(value, where, field)
	case field.Kind() == reflect.Slice && value.Kind == yaml.SequenceNode:
		var items []string
		for _, item := range value.Content {
			items = append(items, item.Value)
		}
		field.Set(reflect.ValueOf(items))
	case value.Kind != yaml.ScalarNode:
		l.problem(l.at(value), "%s: want %s, got a list or a map", where, k.Kind())
	default:
		text, err := l.secret(value.Value, how)
		if err == nil {
			err = k.parse(field, text)
		}
		if err != nil {
			l.problem(l.at(value), "%s: %v", where+how, err)
		}
	}
}

// secret returns what a value names: itself, a variable, or a file.
func (l *loader) secret(text, how string) (string, error) {
	switch how {
	case "_env":
		value, ok := l.env.lookup(text)
		if !ok || value == "" {
			return "", fmt.Errorf("the variable %s is not set", text)
		}
		return value, nil
	case "_file":
		raw, err := os.ReadFile(text)
		if err != nil {
			return "", fmt.Errorf("the file %s can't be read: %w", text, cause(err))
		}
		return strings.TrimRight(string(raw), "\r\n"), nil
	}
	return text, nil
}

// keyOf reads the tags of a field. Numbers without bounds have the widest.
func keyOf(f reflect.StructField) Key {
	k := Key{
		Name: f.Tag.Get("yaml"), Doc: f.Tag.Get("doc"), Default: f.Tag.Get("default"), Secret: f.Tag.Get("secret") == "true",
		Choices: strings.Fields(f.Tag.Get("oneof")), Min: f.Tag.Get("min"), Max: f.Tag.Get("max"), typ: f.Type,
	}
	switch {
	case k.Max != "":
	case k.typ == durationType:
		k.Min, k.Max = "0s", "8760h"
	case k.typ.Kind() == reflect.Int, k.typ.Kind() == reflect.Int64:
		k.Min, k.Max = "0", "2147483647"
	}
	return k
}

// writeSurfaces is the part of the reference page about chat platforms.
func writeSurfaces(b *strings.Builder, platforms []surface.Platform) {
	if len(platforms) == 0 {
		return
	}
	b.WriteString("## surfaces\n\nChat platforms that turns are shown on, by name: `surfaces: {NAME: {platform: …}}`. The name is part of the conversations' ids and, of a webhook, the address it is called at. A key that is marked as secret can also be given as NAME`_env` (a variable) or NAME`_file` (a file). Every surface has these keys:\n\n")
	writeFields(b, reflect.TypeFor[Surface](), "")
	for _, p := range platforms {
		fmt.Fprintf(b, "\n### platform: %s\n\n%s\n\n", p.Name, p.Doc)
		writeFields(b, reflect.TypeOf(p.Keys()).Elem(), "")
	}
}

func writeFields(b *strings.Builder, t reflect.Type, path string) {
	for f := range t.Fields() {
		k := keyOf(f)
		if k.Name == "" || k.Name == "-" {
			continue
		}
		if f.Type.Kind() == reflect.Struct {
			writeFields(b, f.Type, path+k.Name+".")
			continue
		}
		fmt.Fprintf(b, "- `%s%s`: %s", path, k.Name, k.Doc)
		if len(k.Choices) > 0 {
			fmt.Fprintf(b, " One of `%s`.", strings.Join(k.Choices, "`, `"))
		}
		if k.Default != "" {
			fmt.Fprintf(b, " Default `%s`.", k.Default)
		}
		if k.Secret {
			b.WriteString(" Secret.")
		}
		b.WriteString("\n")
	}
}
