package config

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// apply reads a file's text. Each key is set by the same rules as a variable,
// so that a message about it is the same too; a key that is null keeps its
// default.
func (l *loader) apply(raw []byte) {
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		l.problem(l.File, "not valid YAML: %v", err)
		return
	}
	if len(doc.Content) == 0 {
		return
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return
	}
	if root.Kind != yaml.MappingNode {
		l.problem(l.at(root), "want lines of the form key: value")
		return
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		l.applyKey(root.Content[i], root.Content[i+1])
	}
}

func (l *loader) applyKey(name, value *yaml.Node) {
	where := l.at(name)
	if name.Value == "surfaces" {
		l.applySurfaces(value)
		return
	}
	k, ok := find(l.keys, name.Value)
	if !ok {
		l.problem(where, "unknown key %q%s", name.Value, didYouMean(name.Value, append(names(l.keys), "surfaces")))
		return
	}
	if _, twice := l.From[k.Name]; twice {
		l.problem(where, "%s is set twice", k.Name)
		return
	}
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if value.Tag == "!!null" {
		return
	}
	if k.isList() {
		l.applyList(k, value, where)
		return
	}
	if value.Kind != yaml.ScalarNode {
		l.problem(where, "%s: want %s, got a list or a map", k.Name, k.Kind())
		return
	}
	if err := k.set(&l.Config, value.Value); err != nil {
		l.problem(where, "%s: %v", k.Name, err)
		return
	}
	l.From[k.Name] = where
}

func (l *loader) applyList(k Key, value *yaml.Node, where string) {
	if value.Kind == yaml.ScalarNode {
		k.setList(&l.Config, splitList(value.Value))
		l.From[k.Name] = where
		return
	}
	var items []string
	if err := value.Decode(&items); err != nil {
		l.problem(where, "%s: want a list of texts", k.Name)
		return
	}
	k.setList(&l.Config, items)
	l.From[k.Name] = where
}

func (l *loader) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", l.File, n.Line) }

func names(keys []Key) []string {
	list := make([]string, len(keys))
	for i, k := range keys {
		list[i] = k.Name
	}
	return list
}
