package tool

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// ticks is when a process was started, in the system's clock ticks since boot.
// With its id it names a process for good.
type ticks uint64

// process is a line of /proc.
type process struct {
	id, parent, group, session int
	born                       ticks
	dead                       bool
}

// strays are the processes of a command that have left its group, as far as
// they were seen: one whose parent has ended since is still known.
type strays map[int]ticks

// running reports whether any process of the command still runs.
func (p *processes) running() bool { return len(p.find()) > 0 }

// signal reaches the group at once, so that none of it can fork away, and each
// stray. Strays are looked for first, while their parents live.
func (p *processes) signal(s syscall.Signal) {
	found := p.find()
	// That a process is gone meanwhile is what was wanted.
	_ = syscall.Kill(-p.group, s)
	for _, q := range found {
		if q.group != p.group {
			q.signal(s)
		}
	}
}

// signal holds the process before it looks whether the id is still that
// process's, so that it can't reach a newer one.
func (q process) signal(s syscall.Signal) {
	held, err := os.FindProcess(q.id)
	if err != nil {
		return
	}
	// What is returned is that it has ended, which was wanted, or that it is
	// somebody else's.
	defer held.Release() //nolint:errcheck // there is nothing to do about it
	if birth(q.id) == q.born {
		_ = held.Signal(s)
	}
}

// find returns the processes of the command that live: those in its session or
// group, those with its mark, those seen before, and the children of any.
func (p *processes) find() []process {
	var found, rest []process
	for _, q := range liveSince(p.born) {
		if q.session == p.group || q.group == p.group || p.known(q) || p.marked(q) {
			found = append(found, q)
		} else {
			rest = append(rest, q)
		}
	}
	// Children of those that were found are put behind them and so have their
	// own children looked for in turn.
	for i := 0; i < len(found); i++ {
		others := rest[:0]
		for _, q := range rest {
			if q.parent == found[i].id {
				found = append(found, q)
			} else {
				others = append(others, q)
			}
		}
		rest = others
	}
	p.strays = strays{}
	for _, q := range found {
		if q.group != p.group {
			p.strays[q.id] = q.born
		}
	}
	return found
}

// known reports whether a process was seen to be a stray of the command.
func (p *processes) known(q process) bool {
	born, ok := p.strays[q.id]
	return ok && born == q.born
}

// marked reports whether a process was started with the mark of the call. The
// environments of other people's processes can't be read.
func (p *processes) marked(q process) bool {
	env, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(q.id), "environ"))
	return err == nil && bytes.Contains(env, []byte(markName+"="+p.mark))
}

// liveSince lists the processes that were not started before a time and have
// not ended.
func liveSince(born ticks) []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var live []process
	for _, name := range names {
		id, err := strconv.Atoi(name)
		if err != nil || id == os.Getpid() {
			continue
		}
		if q, ok := readProcess(id); ok && !q.dead && q.born >= born {
			live = append(live, q)
		}
	}
	return live
}

// birth returns when a process was started, 0 if there is none.
func birth(id int) ticks {
	q, _ := readProcess(id)
	return q.born
}

// readProcess reads /proc/ID/stat (proc_pid_stat(5)). The second field is a name
// that may hold anything, so the others are counted from its end.
func readProcess(id int) (process, bool) {
	raw, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(id), "stat"))
	if err != nil {
		return process{}, false
	}
	fields := bytes.Fields(raw[bytes.LastIndexByte(raw, ')')+1:])
	const state, parent, group, session, born = 0, 1, 2, 3, 19
	if len(fields) <= born {
		return process{}, false
	}
	at := func(i int) int {
		n, _ := strconv.Atoi(string(fields[i]))
		return n
	}
	return process{
		id: id, parent: at(parent), group: at(group), session: at(session), born: ticks(at(born)),
		dead: bytes.ContainsAny(fields[state], "ZX"),
	}, true
}
