package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// file is one append-only file. A batch is whatever was handed over while the
// last one was being written and synced; there is no timer.
type file struct {
	f    *os.File
	mu   sync.Mutex
	cond *sync.Cond
	next *batch
}

// batch is what one fdatasync makes durable.
type batch struct {
	bytes []byte
	done  chan struct{}
	err   error
}

func create(path string) (*file, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	l := &file{f: f, next: newBatch()}
	l.cond = sync.NewCond(&l.mu)
	return l, nil
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// Append returns once b is on the disk.
func (l *file) Append(b []byte) error {
	l.mu.Lock()
	mine := l.next
	mine.bytes = append(mine.bytes, b...)
	l.mu.Unlock()
	l.cond.Signal()
	<-mine.done
	return mine.err
}

// write is the only writer. It returns when a write fails: nothing may be
// forwarded after that.
func (l *file) write() error {
	for {
		l.mu.Lock()
		for len(l.next.bytes) == 0 {
			l.cond.Wait()
		}
		b := l.next
		l.next = newBatch()
		l.mu.Unlock()
		_, err := l.f.Write(b.bytes)
		if err == nil {
			err = fdatasync(l.f)
		}
		b.err = err
		close(b.done)
		if err != nil {
			return err
		}
	}
}

func fdatasync(f *os.File) error {
	rc, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var synced error
	err = rc.Control(func(fd uintptr) { synced = syscall.Fdatasync(int(fd)) })
	if err := errors.Join(err, synced); err != nil {
		return fmt.Errorf("sync: %w", err)
	}
	return nil
}
