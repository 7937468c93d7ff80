//go:build !linux

package sse

import (
	"net"
	"time"
)

// patience does nothing here: the kernel gives up when it does.
func patience(net.Conn, time.Duration) {}
