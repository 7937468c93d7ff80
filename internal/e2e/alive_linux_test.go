package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// alive reports whether a process runs. One that has ended and that nobody has
// asked about yet does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	// The second field is a name that may hold anything.
	after := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(after) > 0 && !bytes.ContainsAny(after[:1], "ZX")
}
