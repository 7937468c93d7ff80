//go:build !unix

package tool

import "os"

// openFlags need nothing more: no name in a folder waits when it is opened.
const openFlags = os.O_RDONLY

// syncFolder does nothing: folders can't be synced here.
func syncFolder(*os.Root) error { return nil }
