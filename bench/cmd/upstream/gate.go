package main

import (
	"context"
	"net/http"
	"sync"
)

// gate holds streams back until it is opened.
type gate struct {
	reached, open         chan struct{}
	reachedOnce, openOnce sync.Once
}

// gates are made when they are first named.
type gates struct {
	mu sync.Mutex
	m  map[string]*gate
}

func (g *gates) get(name string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.m == nil {
		g.m = map[string]*gate{}
	}
	if g.m[name] == nil {
		g.m[name] = &gate{reached: make(chan struct{}), open: make(chan struct{})}
	}
	return g.m[name]
}

// wait is called by a stream.
func (g *gate) wait(ctx context.Context) {
	g.reachedOnce.Do(func() { close(g.reached) })
	select {
	case <-g.open:
	case <-ctx.Done():
	}
}

// awaitStream answers when a stream waits at the gate.
func (g *gates) awaitStream(w http.ResponseWriter, r *http.Request) {
	select {
	case <-g.get(r.PathValue("name")).reached:
	case <-r.Context().Done():
	}
}

func (g *gates) openGate(w http.ResponseWriter, r *http.Request) {
	gt := g.get(r.PathValue("name"))
	gt.openOnce.Do(func() { close(gt.open) })
}
