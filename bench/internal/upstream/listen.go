package upstream

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
)

// Serve listens on a free loopback port, prints "ready ADDRESS" and serves
// until the process is ended.
func Serve(h http.Handler) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("ready %s\n", l.Addr())
	return http.Serve(l, h)
}

// Exit ends a command that could not go on.
func Exit(err error) {
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
