package tool

import (
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// A folder or a file of the workspace becomes a link that leads out and a real
// one again, as fast as can be, while every tool works below it.
func TestNoRaceLeadsOut(t *testing.T) {
	tests := []struct {
		name, swapped, link string
		paths               []string
	}{
		{"folder", "sub", "../outside", []string{"sub/secret.txt", "sub", "sub/new.txt", "sub/deep/new.txt"}},
		{"folder by an absolute link", "sub", "", []string{"sub/secret.txt", "sub", "sub/new.txt"}},
		{"file", "sub/secret.txt", "../../outside/secret.txt", []string{"sub/secret.txt", "sub", "."}},
		{"folder in a folder", "sub/deep", "../../outside", []string{"sub/deep/secret.txt", "sub/deep/new.txt", "."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ws, dir, outside := newWorkspace(t)
			put(t, filepath.Join(dir, "sub/secret.txt"), "harmless secret\n")
			put(t, filepath.Join(dir, "sub/deep/secret.txt"), "harmless secret\n")
			if tt.link == "" {
				tt.link = outside
			}
			swaps := swapForLink(t, filepath.Join(dir, tt.swapped), tt.link)
			seed := rand.Uint64()
			t.Logf("seed %d", seed)
			r := rand.New(rand.NewPCG(seed, 1))
			tools := fileTools(ws)
			for range 150 {
				for tool, a := range tools {
					p := tt.paths[r.IntN(len(tt.paths))]
					shown, _ := call(t, tool, with(a, p))
					shown = strings.ReplaceAll(shown, "secret.txt", "") // it has that name inside too
					checkOutside(t, tool.Spec().Name+" "+p, outside, shown)
				}
			}
			if swaps.Load() == 0 {
				t.Error("nothing was swapped; the test shows nothing")
			}
		})
	}
}

// swapForLink exchanges what is at path with a link, again and again, until the
// test ends.
func swapForLink(t *testing.T, path, to string) *atomic.Int64 {
	t.Helper()
	link := filepath.Join(filepath.Dir(filepath.Dir(path)), "swap")
	if err := os.Symlink(to, link); err != nil {
		t.Fatal(err)
	}
	var swaps atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			if unix.Renameat2(unix.AT_FDCWD, link, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE) == nil {
				swaps.Add(1)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
	return &swaps
}

// Nothing that is no regular file is opened for long enough to wait or to take
// effect, also when a file becomes one.
func TestSpecialFilesAreRefused(t *testing.T) {
	ws, dir, _ := newWorkspace(t)
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Skip("no sockets with names as long as the test's folder: ", err)
	}
	defer listener.Close()
	for name, want := range map[string]string{"pipe": "a named pipe, which is not touched", "socket": "a socket, which is not touched"} {
		for tool, a := range fileTools(ws) {
			_, err := call(t, tool, with(a, name))
			if tool.Spec().Name == "list_directory" && name == "socket" {
				wantError(t, err, "") // a socket can't be opened at all
				continue
			}
			wantError(t, err, want)
		}
	}
	got, err := call(t, listDirectory{ws}, args{"path": "."})
	if err != nil || got != "the workspace has 2 entries\npipe (a named pipe)\nsocket (a socket)\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := call(t, searchFiles{ws}, args{"pattern": "pipe"}); err != nil || got != "[nothing was found in 0 files]\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestAFileThatBecomesAPipeIsNotWaitedFor(t *testing.T) {
	ws, dir, outside := newWorkspace(t)
	file, pipe := filepath.Join(dir, "f"), filepath.Join(outside, "pipe")
	put(t, file, "secret")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	var swaps atomic.Int64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				if unix.Renameat2(unix.AT_FDCWD, pipe, unix.AT_FDCWD, file, unix.RENAME_EXCHANGE) == nil {
					swaps.Add(1)
				}
			}
		}
	}()
	for range 300 {
		for tool, a := range fileTools(ws) {
			if tool.Spec().ReadOnly {
				call(t, tool, with(a, "f")) // it must end; what it says depends on the moment
			}
		}
	}
	close(stop)
	<-stopped
	if swaps.Load() == 0 {
		t.Error("nothing was swapped; the test shows nothing")
	}
}
