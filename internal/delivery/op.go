package delivery

import (
	"time"

	"verbatim/internal/surface"
)

// OpKind is what a lane wants done.
type OpKind int

// The kinds. All but OpWait and OpStore are one call of the surface.
const (
	// OpWait: nothing before Until, or before something new comes when Until
	// is zero.
	OpWait OpKind = iota
	// OpStore: only store what Begin returns.
	OpStore
	OpSend
	OpEdit
	// OpLook reads the newest own posts, OpCheck one post.
	OpLook
	OpCheck
	OpTyping
)

// Priority orders lanes that share a budget; the greater goes first.
type Priority int

// The priorities.
const (
	ForTyping Priority = iota
	ForTool
	ForText
	ForApproval
	ForFinal
)

// Op is the next thing to do in a chat.
type Op struct {
	Kind     OpKind
	Until    time.Time
	Priority Priority
	// Post is what is sent or edited in, PlatformID what is edited or checked.
	Post       surface.Post
	PlatformID string
	// After is the platform id after which to look.
	After string

	t    *track
	it   *item
	spot *spot
	// make is the placement of a first Send; to the end of an Edit's range;
	// change what an OpStore stores.
	make  *spot
	to    int64
	after func()
	store Change
}
