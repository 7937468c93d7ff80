//go:build unix

package tool

import (
	"os"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a pipe, and from
// taking over a terminal, where a name turns out to be one.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY

// syncFolder makes the names in a folder durable.
func syncFolder(folder *os.Root) error {
	f, err := folder.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
