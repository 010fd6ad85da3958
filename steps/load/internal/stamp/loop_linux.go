package stamp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// loopBuffer is the size of one read in bytes. An event has a few hundred bytes.
	loopBuffer = 64 << 10
	// loopBatch is how many connections are read before the runtime's scheduler runs again. With one processor,
	// sends wait for it.
	loopBatch = 128
)

// Loop reads from many connections in one goroutine. Each token costs one receive. One system call returns all
// ready connections, no goroutine is woken per token, and a drained socket is read again only when the kernel
// reports more data.
//
// The runtime's poller waits for the loop's epoll, so the loop blocks no thread, and no blocked system call
// delays sends of the same process.
type Loop struct {
	ep     int
	file   *os.File // ep in the runtime's poller
	bell   int      // an eventfd that wakes the loop for remaining events
	ended  chan struct{}
	events []unix.EpollEvent
	in     receiver
	buf    []byte

	mu      sync.Mutex
	watched []*Conn // indexed by descriptor
	failed  error   // why the loop has stopped
}

// NewLoop starts a loop, which runs until Close.
func NewLoop() (*Loop, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	bell, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err == nil {
		err = unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, bell, &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET, Fd: int32(bell)})
	}
	if err == nil {
		err = unix.SetNonblock(ep, true) // otherwise os.NewFile does not add it to the poller
	}
	if err != nil {
		_, _ = unix.Close(ep), unix.Close(bell)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	l := &Loop{
		ep: ep, file: os.NewFile(uintptr(ep), "epoll"), bell: bell, ended: make(chan struct{}),
		events: make([]unix.EpollEvent, loopBatch), buf: make([]byte, loopBuffer),
	}
	rc, err := l.file.SyscallConn()
	if err != nil {
		_, _ = l.file.Close(), unix.Close(bell)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	go func() {
		defer close(l.ended)
		l.stop(rc.Read(l.turn)) // returns when the file is closed or the poller fails
	}()
	return l, nil
}

// Close ends the loop. No exchange may be in progress.
func (l *Loop) Close() {
	_ = l.file.Close()
	<-l.ended
	_ = unix.Close(l.bell)
}

// stop fails the exchanges in progress, which would otherwise never end, and all later ones.
func (l *Loop) stop(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = fmt.Errorf("epoll: waiting for connections: %w", err)
	for _, c := range l.watched {
		if c != nil {
			c.finish(l.failed)
		}
	}
}

// turn reads from the ready connections; then the poller waits for the next ones. An edge that occurs meanwhile
// is not lost, because the poller remembers it.
func (l *Loop) turn(uintptr) (done bool) {
	n := l.poll()
	if n == len(l.events) { // there may be more, without a further edge
		one := [8]byte{1}
		_, _ = unix.Write(l.bell, one[:])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ev := range l.events[:n] {
		if i := int(ev.Fd); i < len(l.watched) && l.watched[i] != nil {
			l.watched[i].ready(ev.Events)
		}
	}
	return false
}

// poll returns the number of ready connections without waiting. Like the receives, it uses a raw system call,
// which cannot block. Otherwise the runtime's monitor would wake for each call, and its sleeps cost as much as
// the tokens.
func (l *Loop) poll() int {
	for {
		n, _, err := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.ep), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)), 0, 0, 0)
		switch err {
		case 0:
			return int(n)
		case unix.EINTR:
		default:
			return 0 // cannot happen: descriptor and memory are valid
		}
	}
}

// Conn is a connection that a loop reads.
type Conn struct {
	loop *Loop
	fd   int

	// Of the exchange in progress.
	rest    []byte // not yet written
	sent    error  // write error
	sink    Sink
	drained bool       // the last receive emptied the socket
	end     chan error // receives the result, once
}

// Sink takes the bytes of one receive, valid during the call. stamp is their time, 0 if unknown; drained means
// that the socket is empty. Returning false ends the exchange.
type Sink func(b []byte, stamp int64, drained bool) (more bool)

// Adopt takes over a TCP connection from the runtime's poller. It closes c.
func (l *Loop) Adopt(c net.Conn) (*Conn, error) {
	defer func() { _ = c.Close() }()
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if cerr := rc.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); cerr != nil || err != nil {
		return nil, errors.Join(cerr, err)
	}
	_ = enable(fd) // without stamps, a read has the time at which it returns
	return &Conn{loop: l, fd: fd, end: make(chan error, 1)}, nil
}

// Close closes the connection. No exchange may be in progress.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// Exchange writes a request and passes the response to sink. It ends when sink returns false, the connection
// ends (io.EOF), or ctx or the deadline ends (os.ErrDeadlineExceeded). sent is the write error, if any; the
// response is read even then. It writes nothing after the deadline.
func (c *Conn) Exchange(ctx context.Context, deadline time.Time, request []byte, sink Sink) (sent, err error) {
	if ctx.Err() != nil || !deadline.IsZero() && time.Until(deadline) <= 0 {
		return nil, os.ErrDeadlineExceeded
	}
	c.rest, c.sent, c.sink = request, nil, sink
	c.write()
	if err := c.watch(); err != nil {
		return c.sent, err
	}
	var late <-chan time.Time
	if !deadline.IsZero() {
		timer := time.NewTimer(time.Until(deadline))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case err = <-c.end:
	case <-ctx.Done():
		err = c.abandon(time.Time{})
	case <-late:
		err = c.abandon(deadline)
	}
	return c.sent, err
}

// Alive reports whether the peer has neither closed an idle connection nor sent anything.
func (c *Conn) Alive() bool {
	var b [1]byte
	_, _, err := unix.Recvfrom(c.fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}

// Untaken reports whether the peer had closed the connection before it received what was sent.
func (c *Conn) Untaken() bool { return Untaken(c.fd) }

// Untaken reports whether the peer of an ended TCP connection had closed it before it received what was sent.
// In that case the peer's kernel has sent a reset, or has not acknowledged all bytes. A peer that received
// everything and then closed has acknowledged it.
//
// A peer that shuts a connection down before closing it ends the stream first, and sends a reset a moment
// later, when it drops unread data. So Untaken waits briefly for a reset.
func Untaken(fd int) bool {
	const closed = 7                                           // TCP_CLOSE: after a reset. A peer that only closes leaves CLOSE_WAIT.
	const patience = 50                                        // ms
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, patience) // returns at once on a reset
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err == nil && (info.State == closed || info.Unacked > 0)
}

// write writes as much as possible without waiting, and records errors.
func (c *Conn) write() {
	for len(c.rest) > 0 {
		n, err := unix.SendmsgN(c.fd, c.rest, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch {
		case err == nil:
			c.rest = c.rest[n:]
		case errors.Is(err, unix.EAGAIN):
			return
		case !errors.Is(err, unix.EINTR):
			c.rest, c.sent = nil, os.NewSyscallError("write", err)
		}
	}
}

// Edges to wait for. Writability is included only while a request did not fit, because it would occur with
// every acknowledgement.
const (
	toRead  = unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET
	toWrite = toRead | unix.EPOLLOUT
)

func (c *Conn) watch() error {
	ev := unix.EpollEvent{Events: toRead, Fd: int32(c.fd)}
	if len(c.rest) > 0 {
		ev.Events = toWrite
	}
	c.loop.mu.Lock()
	defer c.loop.mu.Unlock()
	if c.loop.failed != nil {
		return c.loop.failed
	}
	if err := unix.EpollCtl(c.loop.ep, unix.EPOLL_CTL_ADD, c.fd, &ev); err != nil {
		return os.NewSyscallError("epoll_ctl", err)
	}
	if more := c.fd + 1 - len(c.loop.watched); more > 0 {
		c.loop.watched = append(c.loop.watched, make([]*Conn, more)...)
	}
	c.loop.watched[c.fd] = c
	return nil
}

// forget stops watching. The caller holds the loop's lock.
func (c *Conn) forget() {
	c.loop.watched[c.fd] = nil
	_ = unix.EpollCtl(c.loop.ep, unix.EPOLL_CTL_DEL, c.fd, nil)
	c.rest, c.sink = nil, nil
}

// abandon ends an exchange from outside the loop, unless it has just ended by itself, or ended before a deadline and the loop has
// not read it yet: this process may have been stopped meanwhile.
func (c *Conn) abandon(deadline time.Time) error {
	c.loop.mu.Lock()
	defer c.loop.mu.Unlock()
	if c.sink != nil && !deadline.IsZero() {
		c.catchUp(deadline.UnixNano())
	}
	select {
	case err := <-c.end:
		return err
	default:
		c.forget()
		return os.ErrDeadlineExceeded
	}
}

// ready handles the connection's epoll events. It knows without a further system call whether there is more to
// read: the buffer was full, or the peer has ended.
func (c *Conn) ready(events uint32) {
	if events&unix.EPOLLOUT != 0 && len(c.rest) > 0 {
		if c.write(); len(c.rest) == 0 {
			ev := unix.EpollEvent{Events: toRead, Fd: int32(c.fd)}
			_ = unix.EpollCtl(c.loop.ep, unix.EPOLL_CTL_MOD, c.fd, &ev)
		}
	}
	for events&^unix.EPOLLOUT != 0 && c.read() {
		if events&^(unix.EPOLLIN|unix.EPOLLOUT) == 0 && c.drained {
			return
		}
	}
}

// read receives once and reports whether to continue reading.
func (c *Conn) read() bool {
	l := c.loop
	n, stamp, errno := l.in.receive(c.fd, l.buf)
	switch {
	case errno == unix.EAGAIN:
		return false
	case errno != 0:
		c.finish(os.NewSyscallError("read", errno))
		return false
	case n == 0:
		c.finish(io.EOF)
		return false
	}
	c.drained = n < len(l.buf)
	if !c.sink(l.buf[:n], stamp, c.drained) {
		c.finish(nil)
		return false
	}
	return true
}

// catchUp reads what arrived before a time, by its stamps.
func (c *Conn) catchUp(limit int64) {
	l := c.loop
	for {
		n, stamp, errno := l.in.receive(c.fd, l.buf)
		switch {
		case errno != 0, n > 0 && (stamp == 0 || stamp > limit):
			return
		case n == 0:
			c.finish(io.EOF)
			return
		}
		c.drained = n < len(l.buf)
		if !c.sink(l.buf[:n], stamp, c.drained) {
			c.finish(nil)
			return
		}
	}
}

func (c *Conn) finish(err error) {
	c.forget()
	c.end <- err
}
