package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// world is what all tests of this package share.
var world struct {
	dir     string   // temporary, removed at the end
	spawner *spawner // starts every process
	binary  func() (string, error)
}

func TestMain(m *testing.M) { os.Exit(runAll(m)) }

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "verbatim-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// A process that gives up its rights for a test must still reach the
	// binary.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	world.dir, world.spawner = dir, newSpawner()
	world.binary = sync.OnceValues(buildBinary)
	code := m.Run()
	world.spawner.stop()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// buildBinary builds the program. Long runs of the race detector look into the
// program too; in short ones its own packages' tests do.
func buildBinary() (string, error) {
	out := filepath.Join(world.dir, "verbatim")
	args := []string{"build", "-o", out}
	if raceEnabled && long() {
		args = append(args, "-race")
	}
	build := exec.Command("go", append(args, "verbatim/cmd/verbatim")...)
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, said)
	}
	return out, nil
}

// long reports whether the tests may take their time.
func long() bool { return os.Getenv("VERBATIM_LONG") != "" }

// pick returns the first value in a short run and the second in a long one.
func pick(short, whenLong int) int {
	if long() {
		return whenLong
	}
	return short
}
