//go:build unix && !linux

package tool

import "syscall"

// ticks is when a process was started, strays what has left the group. Neither
// is known here.
type (
	ticks  struct{}
	strays struct{}
)

func birth(int) ticks { return ticks{} }

// running reports whether the process group has a member.
func (p *processes) running() bool { return syscall.Kill(-p.group, 0) != syscall.ESRCH }

// signal reaches the group. That it is gone meanwhile is what was wanted.
func (p *processes) signal(s syscall.Signal) { _ = syscall.Kill(-p.group, s) }
