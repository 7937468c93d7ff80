package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"verbatim/bench/internal/load"
	"verbatim/bench/internal/machine"
)

// sample is one reading, a line of the results file.
type sample struct {
	Date    string       `json:"date"`
	Commit  string       `json:"commit"`
	Machine machine.Info `json:"machine"`
	Round   int          `json:"round"`
	// Row is the measurement, Target what was measured: the product, or a
	// floor by its name.
	Row    string             `json:"row"`
	Target string             `json:"target"`
	Values map[string]float64 `json:"values"`
	// Wrong counts lost, repeated and reordered events and ids.
	Wrong int64 `json:"wrong"`
}

// record keeps the readings and appends them to a file as they come.
type record struct {
	commit  string
	machine machine.Info
	file    *os.File
	samples []sample
}

// openRecord appends to the day's file in dir.
func openRecord(dir, commit string) (*record, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, time.Now().UTC().Format(time.DateOnly)+".jsonl")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return &record{commit: commit, machine: machine.Describe(), file: f}, nil
}

// add keeps a reading.
func (r *record) add(round int, row, target string, t load.Tally, values map[string]float64) error {
	s := sample{
		Date: time.Now().UTC().Format(time.RFC3339), Commit: r.commit, Machine: r.machine,
		Round: round, Row: row, Target: target, Values: values, Wrong: t.Wrong(),
	}
	if t.Wrong() > 0 {
		fmt.Fprintf(os.Stderr, "%s of %s: %d lost, %d repeated, %d reordered, %d ids out of order\n", row, target, t.Lost, t.Repeated, t.Reordered, t.WrongIDs)
	}
	r.samples = append(r.samples, s)
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(b, '\n'))
	return err
}

// median returns the median of a value over the rounds.
func (r *record) median(row, target, value string) (float64, bool) {
	var all []float64
	for _, s := range r.samples {
		if v, ok := s.Values[value]; ok && s.Row == row && s.Target == target {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	slices.Sort(all)
	mid := len(all) / 2
	if len(all)%2 == 0 {
		return (all[mid-1] + all[mid]) / 2, true
	}
	return all[mid], true
}

// wrong returns how many events of a target were lost, repeated or reordered in
// all rounds.
func (r *record) wrong(target string) (n int64) {
	for _, s := range r.samples {
		if s.Target == target {
			n += s.Wrong
		}
	}
	return n
}

// ms is how durations are written down.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
