package tool

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Config is what the tools of one workspace are made with.
type Config struct {
	// Workspace is the folder that the file tools keep to and that commands run
	// in. It must exist.
	Workspace string
	// Now is the clock; time.Now if nil.
	Now func() time.Time
	// Location is the time zone that current_time speaks of; the machine's if
	// nil.
	Location *time.Location
	Command  CommandConfig
	Fetch    FetchConfig
}

// Set is the tools that a model may call.
type Set struct {
	tools   []Tool
	byName  map[string]Tool
	closers []io.Closer
}

// Open makes the tools of a workspace. It fails if the folder can't be opened;
// nothing is created.
func Open(cfg Config) (*Set, error) {
	ws, err := openWorkspace(cfg.Workspace)
	if err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Location == nil {
		cfg.Location = time.Local
	}
	command := newRunCommand(cfg.Workspace, cfg.Command)
	s := &Set{byName: map[string]Tool{}, closers: []io.Closer{ws, command}}
	s.add(
		currentTime{now: cfg.Now, location: cfg.Location},
		listDirectory{ws},
		readFile{ws},
		searchFiles{ws},
		writeFile{ws},
		editFile{ws},
		command,
		newFetchURL(cfg.Fetch),
	)
	return s, nil
}

func (s *Set) add(tools ...Tool) {
	for _, t := range tools {
		name := t.Spec().Name
		if _, twice := s.byName[name]; twice {
			panic(fmt.Sprintf("two tools have the name %s", name))
		}
		s.byName[name] = t
	}
	s.tools = append(s.tools, tools...)
}

// Specs returns what is fixed about each tool, always in the same order.
func (s *Set) Specs() []Spec {
	specs := make([]Spec, 0, len(s.tools))
	for _, t := range s.tools {
		specs = append(specs, t.Spec())
	}
	return specs
}

// Lookup returns the tool of a name.
func (s *Set) Lookup(name string) (Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// Close ends what the tools hold: calls that use a file fail from now on, and
// commands that still run are killed. It returns when they are gone. Closing
// again is harmless.
func (s *Set) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
