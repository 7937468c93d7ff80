package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// Receipts says where a run was shown on chat platforms.
type Receipts struct {
	Run      string    `json:"run_id"`
	Surfaces []Surface `json:"surfaces"`
}

// Surface is a run in one chat. State is delivering, delivered, unknown, refused,
// expired or unsupported.
type Surface struct {
	Surface string `json:"surface"`
	Chat    struct {
		ID     string `json:"id"`
		Thread string `json:"thread,omitempty"`
	} `json:"chat"`
	State      string      `json:"state"`
	Withheld   Withheld    `json:"withheld"`
	Link       string      `json:"link,omitempty"`
	Placements []Placement `json:"placements"`
}

// Withheld counts what a surface does not show of a run.
type Withheld struct {
	Reasoning  int `json:"reasoning"`
	Tools      int `json:"tools"`
	Commentary int `json:"commentary"`
}

// Placement is one message. Segment is empty for what is no text of the model; the
// range is in bytes of the segment.
type Placement struct {
	Segment    string    `json:"segment"`
	From       int64     `json:"from"`
	To         int64     `json:"to"`
	Item       string    `json:"item"`
	Post       string    `json:"post_id"`
	PlatformID string    `json:"platform_id"`
	State      string    `json:"state"`
	Attempts   int       `json:"attempts"`
	At         time.Time `json:"at,omitzero"`
	Error      string    `json:"error,omitempty"`
	// Check is same, other, gone or cannot, of a run that was verified.
	Check string `json:"check,omitempty"`
}

// Receipts returns where a run was shown; with verify each platform is asked
// whether it still shows it, which takes a call a message.
func (c *Client) Receipts(ctx context.Context, run string, verify bool) (Receipts, error) {
	what := "/receipts"
	if verify {
		what = "/verify"
	}
	var r Receipts
	err := c.call(ctx, http.MethodGet, "/api/v1/runs/"+url.PathEscape(run)+what, nil, &r)
	return r, err
}
