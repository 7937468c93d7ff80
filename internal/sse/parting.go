package sse

import (
	"io"
	"slices"
	"sync"
	"time"
)

// How long an ended connection waits for its client to close it too, and how
// much it takes from the client meanwhile.
const (
	lingerFor   = 2 * time.Second
	lingerBytes = 256 << 10
)

// Connections that have ended are looked at after 1, 4, 16 and 64 ticks: most
// clients close at once.
const (
	partingTick = 20 * time.Millisecond
	lingerTicks = int(lingerFor / partingTick)
)

// parting are the connections that have ended, had no goroutine of their own, and
// whose clients have not closed yet. One goroutine looks after all of them and
// goes with the last.
type parting struct {
	mu sync.Mutex
	// joining came since the last tick.
	joining []*follower
	running bool
}

// halfClose tells the client that nothing follows; false when it can't be told.
func (f *follower) halfClose() bool {
	half, ok := f.conn.(interface{ CloseWrite() error })
	return ok && half.CloseWrite() == nil
}

// linger closes the connection once the client has read all: closing before
// would make the kernel throw away what is on its way if the client had sent
// anything after its request.
func (f *follower) linger() {
	defer f.close()
	if !f.halfClose() || f.conn.SetReadDeadline(time.Now().Add(lingerFor)) != nil {
		return
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(f.conn, lingerBytes))
}

// part is linger for a follower without a goroutine of its own. Who calls it
// owns the follower and lets go of it.
func (f *follower) part() {
	if !f.halfClose() {
		f.close()
		return
	}
	f.srv.seeOff(f)
}

// seeOff hands a follower over to the goroutine of those that part. It is called
// by a goroutine that Stop waits for.
func (s *Server) seeOff(f *follower) {
	p := &s.parting
	p.mu.Lock()
	defer p.mu.Unlock()
	p.joining = append(p.joining, f)
	if !p.running {
		p.running = true
		s.work.Go(s.partAll)
	}
}

// parted is a follower and the tick since which it parts.
type parted struct {
	*follower
	since int
}

// partAll closes connections until none is left.
func (s *Server) partAll() {
	ticks := time.NewTicker(partingTick)
	defer ticks.Stop()
	var all []parted
	var try attempt
	for tick := 0; ; tick++ {
		for _, f := range s.parting.take(len(all) > 0) {
			all = append(all, parted{f, tick})
		}
		if len(all) == 0 {
			return
		}
		select {
		case <-ticks.C:
		case <-s.ctx.Done():
			tick += lingerTicks
		}
		all = slices.DeleteFunc(all, func(p parted) bool { return p.leave(&try, tick+1-p.since) })
	}
}

// take returns who came. When nobody did and nobody is left, the goroutine that
// asks is no more.
func (p *parting) take(left bool) []*follower {
	p.mu.Lock()
	defer p.mu.Unlock()
	joined := p.joining
	p.joining = nil
	p.running = left || len(joined) > 0
	return joined
}

// leave closes the connection when its client did, or has had its time, and
// reports whether it is closed. age is in ticks.
func (p parted) leave(try *attempt, age int) bool {
	look := age == 1 || age == 4 || age == 16 || age == 64
	if age < lingerTicks && (!look || p.sock.tryDiscard(try) == nil) {
		return false
	}
	p.close()
	return true
}
