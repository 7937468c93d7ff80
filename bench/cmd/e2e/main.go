// Command e2e measures the product and its floors beside each other: it builds
// all of them, runs every row in interleaved rounds, prints medians against
// their targets, and appends each reading to results/DATE.jsonl. All traffic
// stays on loopback, and every process it starts ends with it.
//
// Run it in the bench directory. ROUNDS sets the number of rounds (default 5).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"verbatim/bench/internal/machine"
)

func main() {
	rows := flag.String("rows", "token,fanout,idle,resume,log,start", "what to measure")
	results := flag.String("results", "results", "the directory that readings are appended to")
	work := flag.String("work", ".work", "a directory on a disk, for programs and data while this runs")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, time.Hour)
	err := measure(ctx, strings.Split(*rows, ","), *results, *work)
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func rounds() (int, error) {
	s := os.Getenv("ROUNDS")
	if s == "" {
		return 5, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 50 {
		return 0, fmt.Errorf("ROUNDS is %q: want a number from 1 to 50", s)
	}
	return n, nil
}

func measure(ctx context.Context, rows []string, results, work string) error {
	n, err := rounds()
	if err != nil {
		return err
	}
	l, err := newLab(ctx, results, work)
	if err != nil {
		return err
	}
	defer os.RemoveAll(l.work)
	defer l.record.file.Close()
	defer context.AfterFunc(ctx, l.abort)()
	if err := l.startUpstream(); err != nil {
		return err
	}
	defer l.upstream.kill()
	for l.round = 1; l.round <= n; l.round++ {
		for _, row := range rows {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", l.round, n, row)
			if err := l.measure(ctx, row); err != nil {
				return fmt.Errorf("%s: %w", row, err)
			}
		}
	}
	l.record.print(os.Stdout)
	if l.record.wrong(ours) > 0 {
		return errors.New("the product lost, repeated or reordered events")
	}
	return nil
}

func newLab(ctx context.Context, results, work string) (*lab, error) {
	bench, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	l := &lab{repo: filepath.Dir(bench), bench: bench}
	if err := machine.RaiseFileLimit(); err != nil {
		return nil, err
	}
	if err := l.prepare(work); err != nil {
		return nil, err
	}
	if err = l.build(ctx); err == nil {
		l.record, err = openRecord(results, commit(ctx, l.repo))
	}
	if err != nil {
		os.RemoveAll(l.work)
	}
	return l, err
}

// abort ends the program at once, and the servers with it, when it is
// interrupted or runs out of time.
func (l *lab) abort() {
	os.RemoveAll(l.work)
	fmt.Fprintln(os.Stderr, "interrupted, or out of time; what was read until now is kept")
	os.Exit(1)
}

// measure takes one round's readings of a row.
func (l *lab) measure(ctx context.Context, row string) error {
	switch row {
	case "token":
		return l.token()
	case "fanout":
		return errors.Join(l.fanout(100), l.fanout(1000))
	case "idle":
		return l.idle()
	case "resume":
		return l.resume()
	case "log":
		return l.logBench(ctx)
	case "start":
		return l.startUp()
	}
	return fmt.Errorf("there is no row %q", row)
}
