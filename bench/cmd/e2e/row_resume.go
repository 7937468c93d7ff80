package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"verbatim/bench/internal/load"
	"verbatim/bench/internal/upstream"
)

const (
	rowResumeMemory = "resume-memory"
	rowResumeDisk   = "resume-disk"
)

const (
	missed       = 1000
	resumeTokens = 1500
	resumeRuns   = 10
)

// place is where a reader was when it lost its connection.
type place struct {
	turn      turn
	token, id int64
	cursor    string
}

// resume measures the time from connect to the last of 1,000 missed events:
// while the run is under way, and after a restart, when each run is read from
// the disk for the first time.
func (l *lab) resume() error {
	dir, err := os.MkdirTemp(l.work, "resume-")
	if err != nil {
		return err
	}
	p, err := l.startProduct(dir)
	if err != nil {
		return err
	}
	places, err := l.resumeRunning(p)
	if err == nil {
		err = p.stop()
	}
	if err != nil {
		p.kill()
		return err
	}
	if p, err = l.startProduct(dir); err != nil {
		return err
	}
	if err := l.resumeStored(p, places); err != nil {
		p.kill()
		return err
	}
	return errors.Join(p.stop(), l.resumeFloor())
}

// resumeRunning measures runs that hold after their last token, then lets them
// end.
func (l *lab) resumeRunning(p *product) ([]place, error) {
	var (
		places []place
		took   []time.Duration
		all    load.Tally
	)
	for k := range resumeRuns {
		t := turn{name: fmt.Sprint("r", k), script: upstream.Script{Tokens: resumeTokens, Hold: resumeTokens, Gate: l.unique("resume", k)}}
		first, err := load.Open(p.request(t, ""))
		if err != nil {
			return nil, err
		}
		defer first.Close()
		if err := first.ReadUntil(func(s *load.Stream) bool { return s.Events == resumeTokens }); err != nil {
			return nil, err
		}
		at := missedPlace(t, first)
		places = append(places, at)
		d, tally, err := catchUp(at.request(p), func(s *load.Stream) bool { return s.Events >= missed })
		if err != nil {
			return nil, err
		}
		took = append(took, d)
		all.Add(tally)
		if err := l.openGate(t.script.Gate); err != nil {
			return nil, err
		}
		if err := first.ReadUntil((*load.Stream).Ended); err != nil {
			return nil, err
		}
		all.Add(first.Tally)
		l.learnFrame(first.Tally)
	}
	return places, l.addResume(rowResumeMemory, ours, all, took)
}

// missedPlace is 1,000 tokens before the end of what a reader has seen. The
// records of a run without reasoning and tools follow each other, so ids and
// tokens go in step.
func missedPlace(t turn, s *load.Stream) place {
	token, id, epoch := s.Cursor()
	return place{turn: t, token: token - missed, id: id - missed, cursor: fmt.Sprintf("%s-%d", epoch, id-missed)}
}

func (a place) request(p *product) load.Request {
	r := p.request(a.turn, a.cursor)
	r.From, r.IDFrom = a.token, a.id
	return r
}

func (l *lab) resumeStored(p *product, places []place) error {
	var (
		took []time.Duration
		all  load.Tally
	)
	for _, at := range places {
		d, tally, err := catchUp(at.request(p), (*load.Stream).Ended)
		if err != nil {
			return err
		}
		took = append(took, d)
		all.Add(tally)
	}
	return l.addResume(rowResumeDisk, ours, all, took)
}

func (l *lab) resumeFloor() error {
	f, addr, err := l.startCursor()
	if err != nil {
		return err
	}
	defer f.kill()
	var (
		took []time.Duration
		all  load.Tally
	)
	for k := range resumeRuns {
		channel := fmt.Sprint("r", k)
		if err := l.publish(addr, channel, upstream.Script{Tokens: resumeTokens}); err != nil {
			return err
		}
		whole := load.Get(addr, "/sub?ch="+channel)
		if _, _, err := catchUp(whole, func(s *load.Stream) bool { return s.Events == resumeTokens }); err != nil {
			return err
		}
		rest := load.Get(addr, fmt.Sprintf("/sub?ch=%s&after=%d", channel, resumeTokens-missed))
		rest.From, rest.IDFrom = resumeTokens-missed, resumeTokens-missed
		d, tally, err := catchUp(rest, func(s *load.Stream) bool { return s.Events >= missed })
		if err != nil {
			return err
		}
		took = append(took, d)
		all.Add(tally)
	}
	return l.addResume(rowResumeMemory, floor, all, took)
}

// catchUp opens a stream and reads until done, and returns how long that took
// from before it connected.
func catchUp(r load.Request, done func(*load.Stream) bool) (time.Duration, load.Tally, error) {
	began := time.Now()
	s, err := load.Open(r)
	if err != nil {
		return 0, load.Tally{}, err
	}
	defer s.Close()
	err = s.ReadUntil(done)
	return time.Since(began), s.Tally, err
}

func (l *lab) addResume(row, target string, t load.Tally, took []time.Duration) error {
	slices.Sort(took)
	return l.record.add(l.round, row, target, t, map[string]float64{
		"p50_ms": ms(load.Quantile(took, 0.5)),
		"max_ms": ms(took[len(took)-1]),
		"events": float64(t.Events),
	})
}
