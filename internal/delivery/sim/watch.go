package sim

import (
	"context"
	"time"

	"verbatim/internal/delivery"
	"verbatim/internal/surface"
)

// watch looks at every step.
type watch struct {
	// place are placements as they are stored, by post, and order their posts by
	// item.
	place map[string]delivery.Placement
	order map[itemKey][]string
	// calls counts the calls made for a post.
	calls map[string]int
	// shown is what a message is known to show: told by the platform, and
	// stored.
	shown map[string]body
	// asked counts how often a person asked for a post again.
	asked map[string]int
}

type itemKey struct {
	binding int64
	item    string
}

type body struct {
	text    string
	buttons int
}

func newWatch() watch {
	return watch{
		place: map[string]delivery.Placement{}, order: map[itemKey][]string{}, calls: map[string]int{},
		shown: map[string]body{}, asked: map[string]int{},
	}
}

// stored looks at what was stored.
func (s *watch) stored(w *world, c delivery.Change) {
	touched := map[itemKey]bool{}
	for _, p := range c.Place {
		s.put(p)
		if p.Segment != "" {
			touched[itemKey{p.Binding, p.Item}] = true
		}
	}
	for k := range touched {
		s.ranges(w, k)
	}
}

func (s *watch) put(p delivery.Placement) {
	if old, ok := s.place[p.Post]; ok {
		p.Binding, p.Run, p.Item, p.Segment = old.Binding, old.Run, old.Item, old.Segment
	} else {
		k := itemKey{p.Binding, p.Item}
		s.order[k] = append(s.order[k], p.Post)
	}
	s.place[p.Post] = p
}

// ranges checks that the placements of a text follow each other.
func (s *watch) ranges(w *world, k itemKey) {
	to := int64(0)
	for i, post := range s.order[k] {
		p := s.place[post]
		switch {
		case p.Part != i+1:
			w.wrong(&w.res.Ranges, "%s: part %d is stored as number %d", p.Item, p.Part, i+1)
		case p.From != to || p.To < p.From:
			w.wrong(&w.res.Ranges, "%s: part %d is [%d, %d) after %d", p.Item, p.Part, p.From, p.To, to)
		}
		to = p.To
	}
}

// called looks at a call that is being made.
func (s *watch) called(w *world, l *pilot, op delivery.Op) {
	r, disk := l.room, l.disk
	if w.now.Before(r.quiet) && l.process == w.process && (r.knows == nil || r.knows == l.process && l.took.After(r.since)) {
		w.wrong(&w.res.Early, "a call %v before the platform wants one", r.quiet.Sub(w.now))
	}
	if op.Kind != delivery.OpSend && op.Kind != delivery.OpEdit {
		return
	}
	saved, err := disk.Lane(context.Background(), r.address)
	if err != nil {
		panic("sim: " + err.Error())
	}
	s.calls[op.Post.ID]++
	found := false
	for _, p := range saved.Place {
		switch {
		case p.Post == op.Post.ID:
			found = true
			flight := p.State == delivery.InFlight || op.Kind == delivery.OpEdit && p.EditTo != 0
			if !flight || p.Body == nil || p.Body.Text != op.Post.Text || p.Attempts < s.calls[p.Post] {
				w.wrong(&w.res.Untold, "post %s is called for and stored as %s with %d attempts", p.Post, p.State, p.Attempts)
			}
		case p.State == delivery.InFlight:
			w.wrong(&w.res.Untold, "post %s is called for while %s is stored as in flight", op.Post.ID, p.Post)
		}
	}
	if !found {
		w.wrong(&w.res.Untold, "post %s is called for and not stored", op.Post.ID)
	}
	if op.Kind == delivery.OpEdit && s.shown[op.PlatformID] == (body{op.Post.Text, len(op.Post.Buttons)}) {
		w.wrong(&w.res.Same, "message %s is changed into what it is", op.PlatformID)
	}
}

// settled looks at an outcome that is stored.
func (s *watch) settled(w *world, l *pilot, op delivery.Op, out surface.Outcome, at time.Time) {
	r := l.room
	for _, other := range w.rooms {
		until := at.Add(out.RetryAfter)
		if out.RetryAfter <= 0 || other != r && !out.Wide || !until.After(other.quiet) {
			continue
		}
		other.quiet, other.knows, other.since = until, nil, at
		if other != r {
			// A delay for all chats is stored with the one that was told.
			other.knows = l.process
		}
	}
	switch {
	case op.Kind == delivery.OpSend && out.PlatformID != "":
		s.shown[out.PlatformID] = body{op.Post.Text, len(op.Post.Buttons)}
	case op.Kind == delivery.OpEdit && out.Class == surface.Delivered:
		s.shown[op.PlatformID] = body{op.Post.Text, len(op.Post.Buttons)}
	case op.Kind == delivery.OpEdit && out.Class == surface.Unknown:
		delete(s.shown, op.PlatformID)
	}
}
