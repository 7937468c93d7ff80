package e2e

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nobody is the id of the user that owns nothing.
const nobody = 65534

// TestReadOnlyDirectory: the refusal names the directory. Root may write
// everywhere, so the process gives up its rights first.
func TestReadOnlyDirectory(t *testing.T) {
	u := newUpstream(t, func(ask) []step { return nil })
	p := newProduct(t, u)
	top, err := os.MkdirTemp(world.dir, "read-only-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(top, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"there": top, "to be made": filepath.Join(top, "data")} {
		t.Run(name, func(t *testing.T) {
			if os.Geteuid() != 0 && name == "there" {
				if err := os.Chmod(top, 0o555); err != nil {
					t.Fatal(err)
				}
			}
			cmd := p.command("serve", "--addr", "127.0.0.1:0", "--data", dir, "--model", "openai/fake")
			cmd.Dir = world.dir
			if os.Geteuid() == 0 {
				cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			}
			said := &output{}
			cmd.Stderr = said
			if err := world.spawner.start(cmd); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("exit %v, want 1", err)
			}
			mentions(t, said.String(), dir)
		})
	}
	files, err := os.ReadDir(top)
	if err != nil || len(files) > 0 {
		t.Errorf("files in the directory: %v (%v), want none", files, err)
	}
}

// smallDisk mounts a disk of its own for a test.
func smallDisk(t *testing.T, options string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a small disk")
	}
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Skipf("a small disk can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
	return dir
}

// TestFullDisk fills the disk under a run: the run is closed with disk_full and
// keeps what it said, new ones get 507, and when there is space again all goes
// on. Nothing is damaged.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "size=40m")
	pour := say(strings.Repeat("All work and no play. ", 1000))
	u := newUpstream(t, func(a ask) []step {
		if a.Prompt != "pour" {
			return []step{say("Fine."), finish("stop")}
		}
		steps := []step{}
		for range 1 << 30 / (22 * 1000) {
			steps = append(steps, pour)
		}
		return append(steps, finish("stop"))
	})
	filler := filepath.Join(disk, "filler")
	if err := os.WriteFile(filler, make([]byte, 33<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newProduct(t, u)
	p.dir = filepath.Join(disk, "data")
	p.env = append(p.env, "VERBATIM_BALLAST_BYTES=2097152")
	p.start()
	d := p.door()
	d.whole(t, prompt{Prompt: "Hello", Chat: "kept"})

	got := d.whole(t, prompt{Prompt: "pour", Chat: "full", Run: "full-run"})
	if got.terminal.Name != "error" || got.terminal.Data.Code != "disk_full" {
		t.Fatalf("terminal %+v, want disk_full", got.terminal.Data)
	}
	if status, said := refusal(t, d, prompt{Prompt: "more", Chat: "kept"}); status != http.StatusInsufficientStorage {
		t.Errorf("a new run gets %d %s, want 507", status, said)
	}
	if rows := d.conversation(t, "full").Messages; len(rows) != 2 || rows[1].Status != "failed" || rows[1].Content != got.text {
		t.Errorf("the full run is shown with %d rows", len(rows))
	}
	if rows := d.conversation(t, "kept").Messages; len(rows) != 2 || rows[1].Content != "Fine." {
		t.Errorf("the other conversation is %+v", rows)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	until(t, "new runs are taken again", func() bool {
		status, _ := refusal(t, d, prompt{Prompt: "more", Chat: "kept", Run: "more"})
		return status == http.StatusOK
	})
	if got := d.whole(t, prompt{Prompt: "more", Chat: "kept", Run: "more"}); got.text != "Fine." {
		t.Errorf("after there was space: %q", got.text)
	}
	if code := p.stop(); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	stored := readStored(t, p.dir, "kept", "full")
	checkRecords(t, "kept", stored["kept"])
	checkRecords(t, "full", stored["full"])
	seenIsStored(t, got, stored["full"])
	if _, err := os.Stat(filler); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("filler: %v", err)
	}
}

// refusal sends a message and returns the status of the answer, which is not
// read when it is a stream.
func refusal(t *testing.T, d *door, p prompt) (status int, said string) {
	t.Helper()
	s, err := d.chat(p, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Status == http.StatusOK {
		return s.Status, ""
	}
	b, err := io.ReadAll(s.body)
	if err != nil {
		t.Fatal(err)
	}
	return s.Status, string(b)
}
