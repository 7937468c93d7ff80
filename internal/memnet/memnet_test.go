package memnet

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBytesArriveInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe(7)
		sent := bytes.Repeat([]byte("0123456789"), 100)
		go func() {
			if n, err := a.Write(sent); n != len(sent) || err != nil {
				t.Errorf("wrote %d, %v", n, err)
			}
			_ = a.CloseWrite()
		}()
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		// The other direction is open still.
		if _, err := b.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if _, err := a.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("write after CloseWrite: %v", err)
		}
	})
}

func TestTry(t *testing.T) {
	a, b := Pipe(4)
	if n, err := a.TryWrite([]byte("123456")); n != 4 || err != nil {
		t.Errorf("wrote %d, %v", n, err)
	}
	if n, err := a.TryWrite([]byte("56")); n != 0 || err != nil {
		t.Errorf("wrote %d, %v to a full buffer", n, err)
	}
	if n := b.Buffered(); n != 4 {
		t.Errorf("%d bytes wait", n)
	}
	buf := make([]byte, 10)
	if n, err := b.TryRead(buf); n != 4 || err != nil {
		t.Errorf("read %d, %v", n, err)
	}
	if n, err := b.TryRead(buf); n != 0 || err != nil {
		t.Errorf("read %d, %v from an empty buffer", n, err)
	}
	_ = a.Close()
	if _, err := b.TryRead(buf); err != io.EOF {
		t.Errorf("behind the end: %v", err)
	}
	if _, err := b.TryWrite(buf); err == nil {
		t.Error("wrote to a closed peer")
	}
}

func TestCloseWithUnreadInput(t *testing.T) {
	a, b := Pipe(4)
	_, _ = a.TryWrite([]byte("in"))
	_, _ = b.TryWrite([]byte("out"))
	_ = b.Close()
	if n, err := a.TryRead(make([]byte, 4)); n != 0 || err != errReset {
		t.Errorf("read %d, %v", n, err)
	}
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := Pipe(4)
		begin := time.Now()
		_ = a.SetDeadline(begin.Add(time.Second))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		if n, err := a.Write(make([]byte, 9)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write past the deadline: %d, %v", n, err)
		}
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %v", took)
		}
		_ = a.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := a.Write(make([]byte, 9)); n != 4 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write to a full buffer: %d, %v", n, err)
		}
		_ = a.SetDeadline(time.Time{})
		go func() { _, _ = io.ReadFull(b, make([]byte, 13)) }()
		if n, err := a.Write(make([]byte, 9)); n != 9 || err != nil {
			t.Errorf("write without a deadline: %d, %v", n, err)
		}
	})
}

func TestBreak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gone := errors.New("timed out")
		a, b := Pipe(4)
		got := make(chan error)
		go func() {
			_, err := a.Write(make([]byte, 9))
			got <- err
		}()
		synctest.Wait()
		a.Break(gone)
		if err := <-got; err != gone {
			t.Errorf("write: %v", err)
		}
		if _, err := b.Read(make([]byte, 1)); err != gone {
			t.Errorf("read: %v", err)
		}
	})
}

func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := Listen(0)
		srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(w, r.Body)
		})}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = srv.Serve(l)
		}()
		client := &http.Client{Transport: &http.Transport{DialContext: l.DialContext, MaxIdleConnsPerHost: -1}}
		resp, err := client.Post("http://memory/", "text/plain", strings.NewReader("echo"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || string(body) != "echo" {
			t.Errorf("got %q, %v", body, err)
		}
		_ = srv.Close()
		<-done
		if _, err := l.Dial(context.Background()); err == nil {
			t.Error("connected to a closed listener")
		}
	})
}
