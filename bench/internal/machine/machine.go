// Package machine says what a figure was measured on, and reads what a process
// has used. It never names the host.
package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Info describes the machine of a result.
type Info struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
}

// Describe reads Info from the running system.
func Describe() Info {
	return Info{
		CPU:    field("/proc/cpuinfo", "model name"),
		Cores:  runtime.NumCPU(),
		Kernel: kernel(),
		Go:     runtime.Version(),
	}
}

// kernel keeps the version and leaves out what a build appends to it.
func kernel() string {
	b, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	v, _, _ := strings.Cut(strings.TrimSpace(string(b)), "-")
	return "Linux " + v
}

// field returns the first value of a "name : value" file of /proc.
func field(path, name string) string {
	b, _ := os.ReadFile(path)
	for l := range strings.SplitSeq(string(b), "\n") {
		k, v, ok := strings.Cut(l, ":")
		if ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// CPU returns the time that a process's threads have run, as the scheduler
// counts it: far finer than the ticks of /proc/PID/stat. A thread that ended
// takes its time with it; Go programs keep theirs.
func CPU(pid int) time.Duration {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	var sum time.Duration
	for _, t := range tasks {
		b, _ := os.ReadFile(t)
		var ns int64
		fmt.Sscan(string(b), &ns)
		sum += time.Duration(ns)
	}
	return sum
}

// RSS returns the resident memory of a process in KiB, 0 when it is gone.
func RSS(pid int) int64 { return status(pid, "VmRSS") }

// Peak returns the most resident memory that a process ever had, in KiB.
func Peak(pid int) int64 { return status(pid, "VmHWM") }

func status(pid int, name string) int64 {
	var kib int64
	fmt.Sscan(field(fmt.Sprintf("/proc/%d/status", pid), name), &kib)
	return kib
}

// SelfCPU returns the time that this process has run.
func SelfCPU() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// RaiseFileLimit lets the process open as many files as the system allows it.
func RaiseFileLimit() error {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("read the limit of open files: %w", err)
	}
	lim.Cur = lim.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("raise the limit of open files: %w", err)
	}
	return nil
}
