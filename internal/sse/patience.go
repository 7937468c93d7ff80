package sse

import (
	"context"
	"net"
	"time"
)

// ackWithin is how long a client may leave unanswered what was sent to it.
// Together with the longest silence it keeps a client that vanished from being
// taken for present for 30 seconds: at most 15 until something is sent, 14
// until the kernel gives up, and the next keep-alive meets the error.
const ackWithin = 14 * time.Second

// ConnContext is for http.Server: it makes every connection that the server
// accepts give up on a peer that leaves what was sent unanswered for 30
// seconds, where the system can do that. Without it, followers over TLS and
// HTTP/2 whose client vanished are noticed only when the kernel gives up.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	patience(c, deadAfter-DefaultKeepAlive)
	return ctx
}

// bottom returns the connection under TLS.
func bottom(c net.Conn) net.Conn {
	for {
		over, ok := c.(interface{ NetConn() net.Conn })
		if !ok {
			return c
		}
		c = over.NetConn()
	}
}
