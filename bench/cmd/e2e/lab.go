package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"verbatim/bench/internal/load"
)

// lab is what all measurements share.
type lab struct {
	repo, bench, work string
	record            *record
	round             int

	upstream     *process
	upstreamAddr string
	// frameBytes is what one token takes on the product's wire, for floors
	// that send frames of the same size.
	frameBytes int
	// filled is a data directory with a million events.
	filled string
}

func (l *lab) bin(name string) string { return filepath.Join(l.work, "bin", name) }

// prepare makes a new directory inside work, which must be on a disk.
func (l *lab) prepare(work string) error {
	if err := os.MkdirAll(work, 0o700); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(work, "run-")
	if err != nil {
		return err
	}
	if l.work, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := os.Mkdir(filepath.Join(l.work, "bin"), 0o700); err != nil {
		return err
	}
	const tmpfs = 0x01021994
	var fs syscall.Statfs_t
	if err := syscall.Statfs(l.work, &fs); err != nil {
		return err
	}
	if fs.Type == tmpfs {
		return fmt.Errorf("%s is in memory, where a sync costs nothing; name a directory on a disk with -work", l.work)
	}
	return nil
}

// build makes the product as it is released, and the floors.
func (l *lab) build(ctx context.Context) error {
	_, err := run(ctx, l.repo, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", l.bin("verbatim"), "./cmd/verbatim")
	if err != nil {
		return err
	}
	_, err = run(ctx, l.bench, []string{"CGO_ENABLED=0"}, "go", "build", "-trimpath", "-o", l.bin("")+"/", "./cmd/upstream", "./cmd/relay", "./cmd/floor")
	return err
}

// startUpstream runs the model server, which all measurements share.
func (l *lab) startUpstream() (err error) {
	l.upstream, l.upstreamAddr, err = startFloor("upstream", l.bin("upstream"))
	return err
}

// awaitGate returns when a stream waits at the gate, openGate lets it go on.
func (l *lab) awaitGate(name string) error { return l.gate(http.MethodGet, name) }
func (l *lab) openGate(name string) error  { return l.gate(http.MethodPost, name) }

func (l *lab) gate(method, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+l.upstreamAddr+"/gate/"+name, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("gate %s: %w", name, err)
	}
	return resp.Body.Close()
}

// learnFrame takes the size of a frame from what the product sent.
func (l *lab) learnFrame(t load.Tally) {
	if t.Events > 0 {
		l.frameBytes = int(t.Bytes / t.Events)
	}
}

// unique makes a name that no other measurement of this run uses.
func (l *lab) unique(parts ...any) string {
	name := fmt.Sprint("b", l.round)
	for _, p := range parts {
		name += fmt.Sprint("-", p)
	}
	return name
}

// wait polls until done or until the limit has passed.
func wait(limit time.Duration, done func() bool) bool {
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if done() {
			return true
		}
		if time.Now().After(end) {
			return false
		}
	}
}

// commit names the state of the tree that is measured.
func commit(ctx context.Context, repo string) string {
	out, err := run(ctx, repo, nil, "git", "describe", "--always", "--dirty", "--abbrev=10")
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}
