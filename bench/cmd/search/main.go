// Command search measures full-text search over many messages: it runs the
// benchmark of internal/store, prints its figures against their targets, and
// appends them to results/DATE.jsonl. Run it in the bench directory.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"verbatim/bench/internal/machine"
)

func main() {
	messages := flag.Int("messages", 1_000_000, "how many messages are written and searched")
	results := flag.String("results", "results", "the directory that readings are appended to")
	work := flag.String("work", ".work", "a directory on a disk, for the database while this runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := measure(ctx, *messages, *results, *work)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(ctx context.Context, messages int, results, work string) error {
	work, err := filepath.Abs(work)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(work, 0o755); err != nil {
		return err
	}
	if work, err = os.MkdirTemp(work, "search-"); err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fmt.Fprintf(os.Stderr, "writing %d messages; a million takes about ten minutes\n", messages)
	out, err := benchmark(ctx, messages, work)
	if err != nil {
		return err
	}
	readings := parse(out)
	if len(readings) == 0 {
		return errors.New("the benchmark printed no figures")
	}
	printTable(os.Stdout, readings)
	return keep(ctx, results, messages, readings)
}

func benchmark(ctx context.Context, messages int, work string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^BenchmarkSearch$", "-benchtime", "1x",
		"-timeout", "4h", "./internal/store", "-messages", strconv.Itoa(messages))
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "TMPDIR="+work)
	var talk bytes.Buffer
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("the benchmark did not end: %w\n%s%s", err, talk.Bytes(), out)
	}
	return out, nil
}

// sample is a line of the results file, as the other measurements write it.
type sample struct {
	Date    string             `json:"date"`
	Commit  string             `json:"commit"`
	Machine machine.Info       `json:"machine"`
	Round   int                `json:"round"`
	Row     string             `json:"row"`
	Target  string             `json:"target"`
	Values  map[string]float64 `json:"values"`
	Wrong   int64              `json:"wrong"`
}

// keep appends the readings to the day's file.
func keep(ctx context.Context, dir string, messages int, readings []reading) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	now := time.Now().UTC()
	f, err := os.OpenFile(filepath.Join(dir, now.Format(time.DateOnly)+".jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	encoder := json.NewEncoder(f)
	for _, r := range readings {
		r.values["messages"] = float64(messages)
		err := encoder.Encode(sample{
			Date: now.Format(time.RFC3339), Commit: commit(ctx), Machine: machine.Describe(),
			Round: 1, Row: "search", Target: r.name, Values: r.values,
		})
		if err != nil {
			return err
		}
	}
	return f.Close()
}

// commit names what was measured.
func commit(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=10").Output()
	if err != nil {
		return "unknown"
	}
	return string(bytes.TrimSpace(out))
}
