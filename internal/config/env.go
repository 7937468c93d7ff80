package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// environment is a process's variables, as os.Environ gives them.
type environment []string

func (e environment) lookup(name string) (string, bool) {
	// The last one wins, as it does in a process.
	for _, pair := range slices.Backward(e) {
		if k, v, ok := strings.Cut(pair, "="); ok && k == name {
			return v, true
		}
	}
	return "", false
}

// value returns what a variable says, itself or by the file that its _FILE form
// names, and which of the two it was; from is empty when neither is set. One
// line break at the end of the file is dropped, as editors add it. Both set at
// once is an error.
func (e environment) value(name string) (text, from string, err error) {
	text, plain := e.lookup(name)
	file, byFile := e.lookup(name + "_FILE")
	switch {
	case plain && byFile:
		return "", name, fmt.Errorf("set together with %s_FILE; remove one of them", name)
	case plain:
		return text, name, nil
	case !byFile:
		return "", "", nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", name + "_FILE", fmt.Errorf("%s can't be read: %w", file, cause(err))
	}
	text = strings.TrimSuffix(strings.TrimSuffix(string(raw), "\n"), "\r")
	return text, name + "_FILE", nil
}

// strangers names variables that begin like ours but are no setting.
func (e environment) strangers(keys []Key) []string {
	known := []string{"VERBATIM_CONFIG"}
	for _, k := range keys {
		known = append(known, k.Env, k.Env+"_FILE")
	}
	var notes []string
	for _, pair := range e {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "VERBATIM_") || slices.Contains(known, name) {
			continue
		}
		notes = append(notes, fmt.Sprintf("the variable %s names no setting%s", name, didYouMean(name, known)))
	}
	return notes
}

// dataDir is the platform's place for application data, plus verbatim; empty
// when the environment names no home.
func (e environment) dataDir() string {
	if base, _ := e.lookup("XDG_DATA_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "verbatim")
	}
	if runtime.GOOS == "windows" {
		return e.under("LOCALAPPDATA", "verbatim")
	}
	if runtime.GOOS == "darwin" {
		return e.under("HOME", "Library", "Application Support", "verbatim")
	}
	return e.under("HOME", ".local", "share", "verbatim")
}

func (e environment) under(variable string, elems ...string) string {
	base, _ := e.lookup(variable)
	if base == "" {
		return ""
	}
	return filepath.Join(append([]string{base}, elems...)...)
}
