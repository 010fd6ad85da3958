package lazy

import (
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Conn is a TCP connection that waits in a Poller.
type Conn struct {
	p             *Poller
	fd            int
	local, remote net.Addr

	ready   chan struct{} // something may have happened
	ended   atomic.Bool   // the peer is through, so a read does not wait
	drained bool          // the last read took all there was
	relaxed bool

	mu      sync.Mutex
	closed  bool
	timer   *time.Timer
	expired atomic.Bool
}

// Relax says whether reads may wait up to the poller's window. Off, it also forgets that
// the connection was drained, so that an idle one can be looked at without a wait.
func (c *Conn) Relax(on bool) error {
	c.drained = c.drained && on
	if on == c.relaxed {
		return nil
	}
	c.relaxed = on
	if on {
		return c.p.relax(c.fd)
	}
	return c.p.unrelax(c.fd)
}

// Drained says that the last read took all there was: the next one waits first, and does
// not ask the kernel in vain.
func (c *Conn) Drained() { c.drained = true }

func (c *Conn) wake() {
	select {
	case c.ready <- struct{}{}:
	default: // it is awake already
	}
}

// until calls try until it is done, and waits in between.
func (c *Conn) until(try func(fd uintptr) bool) error {
	for {
		if c.expired.Load() {
			return c.why()
		}
		if !c.drained || c.ended.Load() {
			if try(uintptr(c.fd)) {
				return nil
			}
		}
		c.drained = false
		<-c.ready
	}
}

// why is the error of a connection whose time is over.
func (c *Conn) why() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	return os.ErrDeadlineExceeded
}

// Read reads once.
func (c *Conn) Read(b []byte) (n int, err error) {
	waited := c.until(func(fd uintptr) bool {
		n, err = unix.Read(int(fd), b)
		return err != unix.EAGAIN && err != unix.EINTR
	})
	switch {
	case waited != nil:
		return 0, waited
	case err != nil:
		return 0, err
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

// Write writes all of b.
func (c *Conn) Write(b []byte) (done int, err error) {
	c.drained = false
	for done < len(b) && err == nil {
		var n int
		waited := c.until(func(fd uintptr) bool {
			n, err = unix.SendmsgN(int(fd), b[done:], nil, nil, unix.MSG_NOSIGNAL)
			return err != unix.EAGAIN && err != unix.EINTR
		})
		if waited != nil {
			return done, waited
		}
		done += max(n, 0)
	}
	return done, err
}

// SetDeadline ends reads and writes at a time; the zero time is none.
func (c *Conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	c.expired.Store(false)
	if t.IsZero() {
		return nil
	}
	d := time.Until(t)
	if d <= 0 {
		c.expired.Store(true)
		c.wake()
		return nil
	}
	var own *time.Timer
	own = time.AfterFunc(d, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.timer == own { // and not one that was set since
			c.expired.Store(true)
			c.wake()
		}
	})
	c.timer = own
	return nil
}

// SetReadDeadline is SetDeadline.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

// SetWriteDeadline is SetDeadline.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

// Close closes the connection. As with reads and writes, nobody else may use it meanwhile.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return net.ErrClosed
	}
	c.closed = true
	if c.relaxed {
		c.p.relaxed.Add(-1)
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.expired.Store(true)
	c.p.mu.Lock()
	delete(c.p.conns, int32(c.fd))
	c.p.mu.Unlock()
	return unix.Close(c.fd) // out of the sets, too: nobody else has it open
}

// LocalAddr of the connection.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr of the connection.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SyscallConn is the connection for those who make system calls of their own; they wait in
// the poller.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return raw{c}, nil }

type raw struct{ c *Conn }

func (r raw) Control(f func(fd uintptr)) error {
	f(uintptr(r.c.fd))
	return nil
}

func (r raw) Read(f func(fd uintptr) bool) error { return r.c.until(f) }

func (r raw) Write(f func(fd uintptr) bool) error { return r.c.until(f) }
