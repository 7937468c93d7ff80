package e2e

import (
	"os/exec"
	"runtime"
)

// spawner starts every process of the tests from one thread. Where the system
// can, a process is killed when the thread that started it ends: so none
// survives the tests, however they end.
type spawner struct {
	jobs chan func()
	done chan struct{}
}

func newSpawner() *spawner {
	s := &spawner{jobs: make(chan func()), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		for job := range s.jobs {
			job()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	dieWithStarter(cmd)
	result := make(chan error)
	s.jobs <- func() { result <- cmd.Start() }
	return <-result
}

func (s *spawner) stop() {
	close(s.jobs)
	<-s.done
}
