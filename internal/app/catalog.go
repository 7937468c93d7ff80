package app

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"verbatim/internal/httpapi"
	"verbatim/internal/provider"
	"verbatim/internal/provider/script"
)

// listedFor is how long what a server said about its models is believed.
const listedFor = time.Minute

// catalog lists the models that can answer: it asks the servers that are
// configured, each at most once a minute. Safe for concurrent use.
type catalog struct {
	models *models
	now    func() time.Time

	mu    sync.Mutex
	known map[opening]listing
}

type listing struct {
	names []string
	err   error
	until time.Time
}

func newCatalog(m *models) *catalog {
	return &catalog{models: m, now: time.Now, known: map[opening]listing{}}
}

// Models implements httpapi.Models: the model of the next run first, then the
// others that can run, then those that can't.
func (c *catalog) Models(ctx context.Context) ([]httpapi.Model, error) {
	v, err := c.models.values(ctx)
	if err != nil {
		return nil, err
	}
	list := []httpapi.Model{c.current(v), {Name: script.Builtin, Available: true}}
	for _, found := range c.askAll(ctx, v) {
		list = append(list, found...)
	}
	for name, reason := range provider.Unusable(c.models.env) {
		list = append(list, httpapi.Model{Name: name, Reason: sentence(reason)})
	}
	slices.SortStableFunc(list, func(a, b httpapi.Model) int {
		return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Name, b.Name))
	})
	// The current one comes first, so it is the one of its name that stays.
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(m httpapi.Model) bool {
		twice := seen[m.Name]
		seen[m.Name] = true
		return twice
	}), nil
}

func rank(m httpapi.Model) int {
	switch {
	case m.Current:
		return 0
	case m.Available:
		return 1
	}
	return 2
}

// current is the model of the next run. A server that does not list it may well
// have it.
func (c *catalog) current(v values) httpapi.Model {
	m := httpapi.Model{Name: c.models.nameOf(v), Available: true, Current: true}
	if _, err := c.models.opened(v); err != nil {
		m.Available, m.Reason = false, sentence(err.Error())
	}
	return m
}

// askAll asks the servers side by side.
func (c *catalog) askAll(ctx context.Context, v values) [2][]httpapi.Model {
	var found [2][]httpapi.Model
	var all sync.WaitGroup
	for i, name := range []string{"openai", "ollama"} {
		all.Go(func() { found[i] = c.ask(ctx, name, v) })
	}
	all.Wait()
	return found
}

// ask returns the models of a provider, or one line that says why there are
// none.
func (c *catalog) ask(ctx context.Context, name string, v values) []httpapi.Model {
	if current, _, _ := strings.Cut(c.models.nameOf(v), "/"); current != name {
		// The address and the key in the settings are the current model's.
		v.BaseURL, v.APIKey = "", ""
	}
	v.Model = name + "/"
	o, err := c.models.opening(v)
	var names []string
	if err == nil {
		names, err = c.list(ctx, name, o)
	}
	if err != nil {
		return []httpapi.Model{{Name: name, Reason: "It can't be used: " + err.Error() + "."}}
	}
	found := make([]httpapi.Model, len(names))
	for i, n := range names {
		found[i] = httpapi.Model{Name: n, Available: true}
	}
	return found
}

func (c *catalog) list(ctx context.Context, name string, o opening) ([]string, error) {
	c.mu.Lock()
	l, ok := c.known[o]
	c.mu.Unlock()
	if ok && c.now().Before(l.until) {
		return l.names, l.err
	}
	l.names, l.err = provider.List(ctx, name, o.cfg)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	l.until = c.now().Add(listedFor)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known[o] = l
	return l.names, l.err
}

// sentence makes a sentence for people of an error's text.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}
