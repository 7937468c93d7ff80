package delivery

import (
	"context"
	"errors"
	"fmt"

	"verbatim/internal/surface"
)

// call makes the one call of a step and tells the lane what it came to.
func (r *runner) call(lane *Lane, op Op) Change {
	h := r.hub
	ctx, cancel := context.WithTimeout(h.ctx, CallTime)
	defer cancel()
	switch op.Kind {
	case OpLook:
		seen, err := r.reader().Own(ctx, r.at.Chat, op.After)
		return lane.SettleLook(op, seen, err, h.opt.Now())
	case OpCheck:
		seen, err := r.reader().Read(ctx, r.at.Chat, op.PlatformID)
		return lane.SettleCheck(op, seen, err, h.opt.Now())
	default:
		return lane.Settle(op, r.change(ctx, op), h.opt.Now())
	}
}

// change makes a call that changes something, and heeds what holds for all chats.
func (r *runner) change(ctx context.Context, op Op) surface.Outcome {
	h := r.hub
	out := r.write(ctx, op)
	if out.Wide && out.RetryAfter > 0 {
		r.governor().Pause(h.opt.Now().Add(out.RetryAfter))
	}
	if out.Class != surface.Delivered {
		h.opt.Logger.Warn("a chat did not take a call", "surface", r.at.Surface, "chat", r.at.Chat.ID, "post", op.Post.ID, "class", out.Class, "detail", out.Detail)
	}
	return out
}

func (r *runner) write(ctx context.Context, op Op) surface.Outcome {
	switch op.Kind {
	case OpTyping:
		return r.end.Surface.Typing(ctx, r.at.Chat)
	case OpEdit:
		return r.end.Surface.Edit(ctx, r.at.Chat, op.PlatformID, op.Post)
	default:
		return r.send(ctx, op.Post)
	}
}

func (r *runner) send(ctx context.Context, post surface.Post) surface.Outcome {
	if !r.end.Surface.Caps().Files {
		post.Files = nil
	}
	post.Files = append([]surface.File(nil), post.Files...)
	for i, f := range post.Files {
		data, err := r.hub.opt.ReadBlob(f.Blob)
		if err != nil {
			return surface.Outcome{Class: surface.Refused, Detail: fmt.Sprintf("the file %s can't be read", f.Name)}
		}
		post.Files[i].Data = data
	}
	return r.end.Surface.Send(ctx, r.at.Chat, post)
}

var errNoReader = errors.New("the surface can't be read back")

func (r *runner) reader() surface.Reader {
	if reader, ok := r.end.Surface.(surface.Reader); ok {
		return reader
	}
	return noReader{}
}

// noReader stands in for a surface that says that it can be read back and can't.
type noReader struct{}

func (noReader) Own(context.Context, surface.Chat, string) ([]surface.Seen, error) {
	return nil, errNoReader
}

func (noReader) Read(context.Context, surface.Chat, string) (surface.Seen, error) {
	return surface.Seen{}, errNoReader
}

func (noReader) Same(surface.Seen, string) bool { return false }
