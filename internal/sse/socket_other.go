//go:build !unix

package sse

import "net"

type attempt struct{}

// fileSocket finds nothing: there is no write here that never waits, so every
// follower has a goroutine of its own.
func fileSocket(net.Conn) socket { return nil }
