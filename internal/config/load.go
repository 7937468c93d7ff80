package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"verbatim/internal/surface"
)

// FileName is the file in the data directory that is read when no other is
// named.
const FileName = "verbatim.yaml"

// Source is where settings come from. A flag comes before a variable, that
// before the file, that before the default.
type Source struct {
	// Flags holds what the command line set, by key.
	Flags map[string]string
	// File is the configuration file. Empty means FileName in the data
	// directory, if there is one; a file that is named must exist.
	File string
	// Env is the environment, as os.Environ gives it.
	Env []string
	// Platforms are the chat platforms that surfaces may be of.
	Platforms []surface.Platform
}

// Loaded is a configuration and where it came from.
type Loaded struct {
	Config
	// File is the file that was read, empty if none.
	File string
	// From says for each key that is set where it was set; keys at their
	// default are missing.
	From map[string]string
	// Notes are sentences about things that look like mistakes but do no
	// harm, such as a variable that names no key.
	Notes []string
}

// Load reads all sources, checks the result and makes Data an absolute path.
// The error is an *Invalid that lists everything that is wrong.
func Load(src Source) (*Loaded, error) {
	l := &loader{
		Loaded: Loaded{Config: Default(), From: map[string]string{}},
		keys:   Keys(),
		env:    environment(src.Env),

		platforms: src.Platforms,
	}
	l.locate(src)
	l.readFile()
	l.readEnv()
	l.readFlags(src.Flags)
	l.resolveData()
	if len(l.problems) == 0 {
		l.problems = append(l.problems, l.check()...)
	}
	if len(l.problems) > 0 {
		return nil, &Invalid{Problems: l.problems}
	}
	return &l.Loaded, nil
}

type loader struct {
	Loaded
	keys     []Key
	env      environment
	mustRead bool
	problems []Problem

	platforms []surface.Platform
}

func (l *loader) problem(where, format string, args ...any) {
	l.problems = append(l.problems, Problem{Where: where, What: fmt.Sprintf(format, args...)})
}

// locate finds the file. The data directory can come from a flag or a variable
// then, not from the file that is looked for in it.
func (l *loader) locate(src Source) {
	if src.File != "" {
		l.File, l.mustRead = src.File, true
		return
	}
	if file, _ := l.env.lookup("VERBATIM_CONFIG"); file != "" {
		l.File, l.mustRead = file, true
		return
	}
	dir := src.Flags["data"]
	if dir == "" {
		dir, _ = l.env.lookup("VERBATIM_DATA")
	}
	if dir == "" {
		dir = l.env.dataDir()
	}
	l.File = filepath.Join(dir, FileName)
}

func (l *loader) readFile() {
	raw, err := os.ReadFile(l.File)
	// A data directory that is a file has no file in it; who opens the
	// directory says so better.
	gone := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
	if gone && !l.mustRead {
		l.File = ""
		return
	}
	if err != nil {
		l.problem(l.File, "the configuration file can't be read: %v", cause(err))
		return
	}
	l.apply(raw)
	if from, ok := l.From["data"]; ok && !l.mustRead {
		l.problem(from, "data can't be set in the file inside the data directory; use --data or VERBATIM_DATA")
	}
}

func (l *loader) readEnv() {
	for _, k := range l.keys {
		text, from, err := l.env.value(k.Env)
		if err != nil {
			l.problem(from, "%v", err)
			continue
		}
		if from != "" {
			l.assign(k, text, from)
		}
	}
	l.Notes = append(l.Notes, l.env.strangers(l.keys)...)
}

func (l *loader) readFlags(flags map[string]string) {
	for _, k := range l.keys {
		if text, ok := flags[k.Name]; ok {
			l.assign(k, text, "--"+k.Flag)
		}
	}
}

// assign sets a key from text. A secret's text is in no message.
func (l *loader) assign(k Key, text, from string) {
	if err := k.set(&l.Config, text); err != nil {
		l.problem(from, "%v", err)
		return
	}
	l.From[k.Name] = from
}

func (l *loader) resolveData() {
	if l.Data == "" {
		l.Data = l.env.dataDir()
	}
	if l.Data == "" {
		l.problem("data", "no data directory: the environment names no home; set --data or VERBATIM_DATA")
		return
	}
	abs, err := filepath.Abs(l.Data)
	if err != nil {
		l.problem("data", "%v", err)
		return
	}
	l.Data = abs
}

// cause drops the operation and path from a file error; messages name the file
// themselves.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}
