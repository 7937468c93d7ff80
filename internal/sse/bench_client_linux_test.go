package sse

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// benchClient is the other process.
type benchClient struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func startClient(tb testing.TB, addr string, n int) *benchClient {
	tb.Helper()
	c := &benchClient{cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", benchClientEnv, addr, n))
	c.cmd.Stderr = os.Stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	if line, err := c.out.ReadString('\n'); err != nil {
		tb.Fatal("client: ", line, err)
	}
	return c
}

// wait lets the client go once all its streams have ended and checks what it
// counted.
func (c *benchClient) wait(tb testing.TB) {
	tb.Helper()
	var r clientResult
	if err := json.NewDecoder(c.out).Decode(&r); err != nil {
		tb.Fatal(err)
	}
	_ = c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		tb.Fatal(err)
	}
	if r.Uneven {
		tb.Errorf("the clients did not all get the same number of bytes")
	}
}

// stop ends the client at once.
func (c *benchClient) stop() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

type clientResult struct {
	Bytes  int64
	Uneven bool
}

// runBenchClient opens n streams and reads them with one epoll loop.
func runBenchClient(spec string) error {
	addr, digits, _ := strings.Cut(spec, " ")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return err
	}
	ep, err := unix.EpollCreate1(0)
	if err != nil {
		return err
	}
	conns := make(map[int32]net.Conn, n)
	got := make(map[int32]int64, n)
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			return err
		}
		raw, _ := c.(*net.TCPConn).SyscallConn()
		var fd int
		_ = raw.Control(func(f uintptr) { fd = int(f) })
		conns[int32(fd)] = c
		if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(fd)}); err != nil {
			return err
		}
	}
	fmt.Println("ready")
	events := make([]unix.EpollEvent, 256)
	buf := make([]byte, 256<<10)
	for open := n; open > 0; {
		k, err := unix.EpollWait(ep, events, -1)
		if err != nil && err != unix.EINTR {
			return err
		}
		for i := range max(k, 0) {
			fd := events[i].Fd
			m, _ := unix.Read(int(fd), buf)
			got[fd] += int64(max(m, 0))
			if m == 0 {
				open--
				_ = unix.EpollCtl(ep, unix.EPOLL_CTL_DEL, int(fd), nil)
				_ = conns[fd].Close()
			}
		}
	}
	var r clientResult
	first := int64(-1)
	for _, n := range got {
		if first < 0 {
			first = n
		}
		r.Bytes += n
		r.Uneven = r.Uneven || n != first
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}
