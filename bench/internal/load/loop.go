package load

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Loop reads many streams with one thread.
type Loop struct {
	epoll int
	stop  atomic.Bool
	done  chan struct{}

	events, closed atomic.Int64

	// mu guards streams against Add; the loop's own fields are its
	// thread's until done is closed.
	mu      sync.Mutex
	streams map[int32]*Stream

	timed bool
	now   int64
	ages  []time.Duration
}

// NewLoop starts a loop. With timed it keeps the age of every token when it was
// read, at most maxEvents of them.
func NewLoop(timed bool, maxEvents int) (*Loop, error) {
	fd, err := syscall.EpollCreate1(syscall.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l := &Loop{epoll: fd, done: make(chan struct{}), streams: map[int32]*Stream{}, timed: timed}
	if timed {
		l.ages = make([]time.Duration, 0, maxEvents)
	}
	go l.run()
	return l, nil
}

// Add gives a stream to the loop, which then owns it.
func (l *Loop) Add(s *Stream) error {
	if err := syscall.SetNonblock(s.fd, true); err != nil {
		return err
	}
	if l.timed {
		s.sent = l.age
	}
	l.mu.Lock()
	l.streams[int32(s.fd)] = s
	l.mu.Unlock()
	l.events.Add(s.Events)
	return syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_ADD, s.fd, &syscall.EpollEvent{Events: syscall.EPOLLIN, Fd: int32(s.fd)})
}

func (l *Loop) age(sent int64) {
	if len(l.ages) < cap(l.ages) {
		l.ages = append(l.ages, time.Duration(l.now-sent))
	}
}

// OpenAll opens n streams, 32 at a time, and adds them.
func (l *Loop) OpenAll(n int, request func(i int) Request) error {
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
		next  atomic.Int64
	)
	for range min(n, 32) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				s, err := Open(request(int(i)))
				if err == nil {
					err = l.Add(s)
				}
				if err != nil {
					once.Do(func() { first = fmt.Errorf("stream %d: %w", i, err) })
					next.Store(int64(n))
				}
			}
		})
	}
	wg.Wait()
	return first
}

func (l *Loop) run() {
	defer close(l.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	ready := make([]syscall.EpollEvent, 256)
	buf := make([]byte, 1<<17)
	for !l.stop.Load() {
		n, err := syscall.EpollWait(l.epoll, ready, 50)
		if err != nil && err != syscall.EINTR {
			return
		}
		for i := range max(n, 0) {
			l.mu.Lock()
			s := l.streams[ready[i].Fd]
			l.mu.Unlock()
			l.readOne(s, buf)
		}
	}
}

func (l *Loop) readOne(s *Stream, buf []byte) {
	n, err := read(s.fd, buf)
	if n <= 0 {
		if err != syscall.EAGAIN {
			l.closed.Add(1)
			syscall.EpollCtl(l.epoll, syscall.EPOLL_CTL_DEL, s.fd, nil)
		}
		return
	}
	before := s.Events
	l.now = time.Now().UnixNano()
	s.take(buf[:n])
	l.events.Add(s.Events - before)
}

// Events is the number of tokens that were read so far, by all streams.
func (l *Loop) Events() int64 { return l.events.Load() }

// Closed is the number of streams that the server has closed so far.
func (l *Loop) Closed() int64 { return l.closed.Load() }

// Result is what a loop saw.
type Result struct {
	Tally
	// Ended streams came to their last chunk.
	Ended int
	// Ages are sorted.
	Ages []time.Duration
}

// Stop closes every stream and returns what was seen. expect tokens should have
// come on each of them; what is missing at the end counts as lost.
func (l *Loop) Stop(expect int64) Result {
	l.stop.Store(true)
	<-l.done
	var r Result
	for _, s := range l.streams {
		s.Lost += max(0, expect-s.last)
		r.Add(s.Tally)
		if s.Ended() {
			r.Ended++
		}
		s.Close()
	}
	syscall.Close(l.epoll)
	slices.Sort(l.ages)
	r.Ages = l.ages
	return r
}

// Quantile returns a value of sorted ages: 0.5 is the median.
func Quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(float64(len(sorted))*q))]
}
