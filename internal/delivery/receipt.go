package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"verbatim/internal/id"
	"verbatim/internal/surface"
)

// SurfaceState is where a run is in one chat.
type SurfaceState string

// The states of a run in a chat.
const (
	StateDelivering  SurfaceState = "delivering"
	StateDelivered   SurfaceState = "delivered"
	StateUnknown     SurfaceState = "unknown"
	StateRefused     SurfaceState = "refused"
	StateExpired     SurfaceState = "expired"
	StateUnsupported SurfaceState = "unsupported"
)

// RunReceipts says where a run was shown.
type RunReceipts struct {
	Run      id.Run           `json:"run_id"`
	Surfaces []SurfaceReceipt `json:"surfaces"`
}

// SurfaceReceipt is a run in one chat.
type SurfaceReceipt struct {
	Surface string       `json:"surface"`
	Chat    surface.Chat `json:"chat"`
	// State is delivering until nothing is left to post; then delivered, or
	// the worst of what became of its posts.
	State    SurfaceState `json:"state"`
	Withheld Withheld     `json:"withheld"`
	// Link is where what is withheld can be read, empty if that is not known.
	Link       string             `json:"link,omitempty"`
	Placements []PlacementReceipt `json:"placements"`
}

// PlacementReceipt is a placement as it is told. Segment and the range are null
// for what is no text of the model.
type PlacementReceipt struct {
	Segment    *id.Segment `json:"segment"`
	From       *int64      `json:"from,omitempty"`
	To         *int64      `json:"to,omitempty"`
	Item       string      `json:"item"`
	Post       string      `json:"post_id"`
	PlatformID string      `json:"platform_id"`
	State      State       `json:"state"`
	Attempts   int         `json:"attempts"`
	At         *time.Time  `json:"at"`
	Error      string      `json:"error,omitempty"`
	// Check is what Verify found, empty if it was not asked.
	Check Check `json:"check,omitempty"`
}

// Check is what the platform shows of a placement.
type Check string

// The findings.
const (
	// CheckSame: exactly what was posted. CheckOther: something else.
	// CheckGone: nothing any more. CheckCannot: the platform can't be asked, or
	// there is nothing to ask about.
	CheckSame   Check = "same"
	CheckOther  Check = "other"
	CheckGone   Check = "gone"
	CheckCannot Check = "cannot"
)

// Receipts says where a run was shown; turnlog.ErrNoRun when there is none.
func (h *Hub) Receipts(ctx context.Context, run id.Run) (RunReceipts, error) {
	if _, err := h.opt.Log.Run(ctx, run); err != nil {
		return RunReceipts{}, err
	}
	all, err := h.opt.Store.Receipts(ctx, run)
	if err != nil {
		return RunReceipts{}, err
	}
	out := RunReceipts{Run: run, Surfaces: []SurfaceReceipt{}}
	for _, r := range all {
		out.Surfaces = append(out.Surfaces, h.receipt(r))
	}
	return out, nil
}

func (h *Hub) receipt(r Receipt) SurfaceReceipt {
	out := SurfaceReceipt{
		Surface: r.Binding.Surface, Chat: r.Binding.Chat, Withheld: r.Withheld, State: h.state(r), Placements: []PlacementReceipt{},
		Link: h.opt.Endpoints[r.Binding.Surface].Policy.Link,
	}
	for _, p := range r.Place {
		line := PlacementReceipt{
			Item: p.Item, Post: p.Post, PlatformID: p.PlatformID, State: p.State, Attempts: p.Attempts, Error: p.Error,
		}
		if !p.At.IsZero() {
			line.At = &p.At
		}
		if p.Segment != "" {
			line.Segment, line.From, line.To = &p.Segment, &p.From, &p.To
		}
		out.Placements = append(out.Placements, line)
	}
	return out
}

func (h *Hub) state(r Receipt) SurfaceState {
	e, ok := h.opt.Endpoints[r.Binding.Surface]
	if !ok || e.Surface.Caps().Mute {
		return StateUnsupported
	}
	if !r.Finished {
		return StateDelivering
	}
	worst := StateDelivered
	for _, p := range r.Place {
		switch {
		case p.State == Unknown:
			return StateUnknown
		case p.State == Refused:
			worst = StateRefused
		case p.State == Expired && worst == StateDelivered:
			worst = StateExpired
		case p.State == Planned || p.State == InFlight:
			return StateDelivering
		}
	}
	return worst
}

// Verify says where a run was shown, and asks each platform that can be asked
// whether it still shows that.
func (h *Hub) Verify(ctx context.Context, run id.Run) (RunReceipts, error) {
	out, err := h.Receipts(ctx, run)
	if err != nil {
		return RunReceipts{}, err
	}
	all, err := h.opt.Store.Receipts(ctx, run)
	if err != nil {
		return RunReceipts{}, err
	}
	shown := map[string]string{}
	for _, r := range all {
		for _, p := range r.Place {
			shown[p.Post] = p.Shown
		}
	}
	for i := range out.Surfaces {
		s := &out.Surfaces[i]
		for j := range s.Placements {
			p := &s.Placements[j]
			if p.Check, err = h.check(ctx, s, p, shown[p.Post]); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// check compares one placement with what the platform shows.
func (h *Hub) check(ctx context.Context, s *SurfaceReceipt, p *PlacementReceipt, shown string) (Check, error) {
	reader, ok := h.opt.Endpoints[s.Surface].Surface.(surface.Reader)
	if !ok || p.PlatformID == "" || shown == "" {
		return CheckCannot, nil
	}
	ctx, cancel := context.WithTimeout(ctx, CallTime)
	defer cancel()
	seen, err := reader.Read(ctx, s.Chat, p.PlatformID)
	switch {
	case errors.Is(err, surface.ErrGone):
		return CheckGone, nil
	case err != nil:
		return "", fmt.Errorf("ask %s about message %s: %w", s.Surface, p.PlatformID, err)
	}
	sum := sha256.Sum256([]byte(seen.Text))
	if hex.EncodeToString(sum[:]) == shown {
		return CheckSame, nil
	}
	return CheckOther, nil
}
