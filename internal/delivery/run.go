package delivery

import (
	"fmt"
	"strings"
	"time"

	"verbatim/internal/surface"
)

// troubleKey begins the key of the line about what is missing of a run.
const troubleKey = "u:"

// nextRun ends the first run of a binding of which nothing is left to show.
func (l *Lane) nextRun(t *track, now time.Time) (Op, bool) {
	if len(t.script.runs) == 0 {
		return Op{}, false
	}
	run := t.script.runs[0]
	if run.last == 0 {
		return Op{}, false
	}
	if text := l.trouble(t, run, now); text != "" {
		it := &item{
			key: troubleKey + string(run.id), run: run.id, kind: surface.KindNotice, card: true, closed: true,
			text: []byte(text), seq: run.last, first: run.last, at: now,
		}
		if len(t.spots[it.key]) == 0 {
			return l.first(t, it, 0, 0, nil, now), true
		}
		if last := t.spots[it.key][0]; !l.final(last, now) {
			return l.pending(t, it, last, now), true
		}
	}
	change := Change{Binding: t.ID, Done: run.last, Place: t.shut(run)}
	if !run.outside {
		change.Runs = []RunShown{{Run: run.id, Withheld: run.withheld}}
	}
	return Op{Kind: OpStore, store: change, after: func() { t.forget(run) }}, true
}

// shut returns the placements of a run as they are kept once nothing is done about
// them any more: only what may be missing keeps its text.
func (t *track) shut(run *show) []Placement {
	var out []Placement
	for _, it := range t.script.items {
		if it.seq > run.last {
			continue
		}
		for _, s := range t.spots[it.key] {
			if s.State == Delivered && s.Body != nil {
				p := s.Placement
				p.Body, p.Sealed, p.EditTo = nil, true, 0
				out = append(out, p)
			}
		}
	}
	return out
}

// forget drops a run that is shown.
func (t *track) forget(run *show) {
	t.Done = run.last
	for _, it := range t.script.items {
		if it.seq <= run.last {
			delete(t.settled, it)
			delete(t.spots, it.key)
		}
	}
	delete(t.spots, troubleKey+string(run.id))
	t.script.forget(run.last)
}

// trouble is the line that tells readers what of a run may be missing; empty when
// nothing is. Of several runs in a row that were too old there is one line, with
// the last.
func (l *Lane) trouble(t *track, run *show, now time.Time) string {
	if l.gone || run.dropped {
		return ""
	}
	unknown, refused, expired := t.missing(run)
	switch {
	case expired > 0 && unknown+refused == 0:
		if l.nextIsOld(t, now) {
			return ""
		}
		return "⌛ What was said here while this chat could not be reached is too old to be posted." + l.where()
	case refused+expired > 0:
		return fmt.Sprintf("⚠ A part of this answer could not be posted: the chat did not take it. Send `/again` to have it once more.%s", l.where())
	case unknown > 0:
		return fmt.Sprintf("⚠ A part of this answer may be missing here: the chat did not say whether it took it. Send `/again` to have it once more.%s", l.where())
	}
	return ""
}

func (l *Lane) where() string {
	if l.cfg.Policy.Link == "" {
		return ""
	}
	return " All of it is at " + l.cfg.Policy.Link + " ."
}

// nextIsOld reports whether the run after the first is too old too.
func (l *Lane) nextIsOld(t *track, now time.Time) bool {
	if len(t.script.runs) < 2 {
		return false
	}
	next := t.script.runs[1]
	return next.last != 0 && stale(next.at, now, l.cfg.Policy.MaxAge)
}

// mustTell reports whether a post is the line about what is missing, and no later
// run will tell the same: it waits for as long as it takes, or nobody was ever told.
func (l *Lane) mustTell(t *track, s *spot, now time.Time) bool {
	return t != nil && strings.HasPrefix(s.Item, troubleKey) && !l.nextIsOld(t, now)
}

// missing counts the placements of a run that readers may not see.
func (t *track) missing(run *show) (unknown, refused, expired int) {
	for _, it := range run.items {
		if it.kind == surface.KindTool || it.dropped {
			continue
		}
		for _, s := range t.spots[it.key] {
			switch s.State {
			case Unknown:
				unknown++
			case Refused:
				refused++
			case Expired:
				expired++
			default:
			}
		}
	}
	return unknown, refused, expired
}
