package config

import (
	"fmt"
	"io"
	"strings"

	"verbatim/internal/surface"
)

// WriteDefault writes a configuration file that names every key, what it means
// and its default. Each key is commented out: a file made of this changes
// nothing until a line is uncommented.
func WriteDefault(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Settings of Verbatim. A flag comes before an environment variable, that before\n")
	b.WriteString("# this file, that before the default shown here. Remove the # to set a key.\n")
	for _, k := range Keys() {
		b.WriteString("\n")
		for _, line := range wrap(k.Doc, 78) {
			b.WriteString("# " + line + "\n")
		}
		fmt.Fprintf(&b, "#%s: %s\n", k.Name, yamlDefault(k))
	}
	b.WriteString(surfacesExample)
	_, err := io.WriteString(w, b.String())
	return err
}

const surfacesExample = `
# Chat platforms that turns are shown on, by name. "verbatim config doc" has all
# keys; docs/platforms tells how to get the secrets.
#surfaces:
#  team:
#    platform: zulip
#    site: https://chat.example.org
#    email: verbatim-bot@chat.example.org
#    api_key_env: ZULIP_API_KEY
#    may_talk: ["*"]
#    may_decide: [owner@example.org]
#  phone:
#    platform: telegram
#    token_env: TELEGRAM_BOT_TOKEN
#    may_talk: [123456]
`

func yamlDefault(k Key) string {
	if k.Default != "" {
		return k.Default
	}
	if k.isList() {
		return "[]"
	}
	if k.Kind() == "text" {
		return `""`
	}
	return "null"
}

// WriteReference writes the reference page, docs/configuration.md, with the keys of
// the chat platforms that there are.
func WriteReference(w io.Writer, platforms []surface.Platform) error {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, k := range Keys() {
		fmt.Fprintf(&b, "## %s\n\n%s\n\n", k.Name, k.Doc)
		fmt.Fprintf(&b, "- kind: %s\n", kindLine(k))
		if k.Default != "" {
			fmt.Fprintf(&b, "- default: `%s`\n", k.Default)
		}
		fmt.Fprintf(&b, "- variable: `%s`\n", k.Env)
		if k.Secret {
			b.WriteString("- secret: never printed, logged or sent to a client\n")
		}
		b.WriteString("\n")
	}
	writeSurfaces(&b, platforms)
	_, err := io.WriteString(w, strings.TrimSuffix(b.String(), "\n"))
	return err
}

const referenceHead = `# Configuration

This page is made from the code: ` + "`verbatim config doc`" + ` prints it.

A setting is taken from the first of these that has it: a flag of the command, an environment variable, the configuration file, the default. The file is ` + "`verbatim.yaml`" + ` in the data directory, or the one that ` + "`--config`" + ` or ` + "`VERBATIM_CONFIG`" + ` names. A key that does not exist is an error, also a misspelled one. Each variable has a second form that ends in ` + "`_FILE`" + ` and names a file to read the value from; this is the right way to hand over a secret. In a variable, a list is written with commas.

` + "`verbatim config default`" + ` prints a file to start from. ` + "`verbatim config check`" + ` says what a process would run with, and where each value comes from.

The model's settings (model, system_prompt, temperature, max_tokens, top_p, reasoning_effort, base_url, api_key) are starting values: what is set through ` + "`POST /settings`" + ` while the server runs is kept in the data directory and comes first. A key is only ever sent to the server that it was set for: whoever sets another base_url sets an api_key with it.

`

func kindLine(k Key) string {
	switch {
	case len(k.Choices) > 0:
		return "one of `" + strings.Join(k.Choices, "`, `") + "`"
	case k.Min != "" && k.Max != "":
		return fmt.Sprintf("%s, %s to %s", k.Kind(), k.Min, k.Max)
	default:
		return k.Kind()
	}
}

// WriteEffective writes what a process would run with: a line for each key with
// its value and where it was set. Secrets are masked.
func (l *Loaded) WriteEffective(w io.Writer) error {
	var b strings.Builder
	for _, k := range Keys() {
		from, ok := l.From[k.Name]
		if !ok {
			from = "default"
		}
		fmt.Fprintf(&b, "%s: %s  # %s\n", k.Name, effective(k, l.Config), from)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func effective(k Key, c Config) string {
	text := k.Text(c)
	switch {
	case text == "":
		return yamlDefault(Key{Name: k.Name, typ: k.typ})
	case k.isList():
		return "[" + text + "]"
	case k.Kind() == "text":
		return fmt.Sprintf("%q", text)
	default:
		return text
	}
}

// wrap breaks a text into lines of at most width bytes at spaces.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
