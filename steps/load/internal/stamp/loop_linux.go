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
	// loopBuffer is the size of one read. An event is a few hundred bytes.
	loopBuffer = 64 << 10
	// loopBatch is how many connections are read before the runtime's scheduler has its
	// turn again: with one processor, sends wait for it.
	loopBatch = 128
)

// Loop reads from many connections in one goroutine. Each token costs one receive: what is
// ready is asked for all connections at once, nobody is woken for a token, and a socket that
// was read to its end is not asked again until the kernel says that there is more.
//
// The epoll of the loop is itself waited for by the runtime's poller, so that no thread is
// held, and sends of the same process are not kept from their time by a blocked system call.
type Loop struct {
	ep     int
	file   *os.File // of ep, in the runtime's poller
	bell   int      // an eventfd, rung to be woken for what is left
	ended  chan struct{}
	events []unix.EpollEvent
	in     receiver
	buf    []byte

	mu      sync.Mutex
	watched []*Conn // by their descriptor
	failed  error   // why the loop reads no more
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
		err = unix.SetNonblock(ep, true) // or os.NewFile does not give it to the poller
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
		l.stop(rc.Read(l.turn)) // which ends when the file is closed, or the poller fails
	}()
	return l, nil
}

// Close ends the loop. No exchange may be under way.
func (l *Loop) Close() {
	_ = l.file.Close()
	<-l.ended
	_ = unix.Close(l.bell)
}

// stop ends the exchanges under way, which nobody would read any more, and those to come.
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

// turn reads from the connections that are ready, and asks to be woken for the next ones.
// An edge that comes meanwhile is not lost: the poller remembers it.
func (l *Loop) turn(uintptr) (done bool) {
	n := l.poll()
	if n == len(l.events) { // there may be more, of which no edge tells
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

// poll asks what is ready, and does not wait. Like the receives it tells the runtime nothing
// of its system call, which cannot block: the runtime's monitor would wake for each, and its
// naps cost as much as the tokens.
func (l *Loop) poll() int {
	for {
		n, _, err := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.ep), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)), 0, 0, 0)
		switch err {
		case 0:
			return int(n)
		case unix.EINTR:
		default:
			return 0 // never: the descriptor and the memory are ours
		}
	}
}

// Conn is a connection that a loop reads.
type Conn struct {
	loop *Loop
	fd   int

	// Of the exchange under way.
	rest    []byte // what is not written yet
	sent    error  // how writing it ended
	sink    Sink
	drained bool       // the last receive left nothing behind
	end     chan error // gets how it ended, once
}

// Sink takes what one receive brought, valid during the call: stamp is its time, 0 without
// one, and drained says that nothing was left behind. False ends the exchange.
type Sink func(b []byte, stamp int64, drained bool) (more bool)

// Adopt takes a TCP connection out of the runtime's hands. It closes c.
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
	_ = enable(fd) // without stamps, reads have the time at which they return
	return &Conn{loop: l, fd: fd, end: make(chan error, 1)}, nil
}

// Close closes the connection. No exchange may be under way.
func (c *Conn) Close() error { return unix.Close(c.fd) }

// Exchange writes a request and hands what comes to sink, until that has enough, the
// connection ends (io.EOF), ctx is done or the deadline is there (os.ErrDeadlineExceeded).
// sent is how writing ended, if not well; what the peer says is read all the same. After the
// deadline nothing is written.
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
		err = c.abandon()
	case <-late:
		err = c.abandon()
	}
	return c.sent, err
}

// Alive reports whether the peer has neither closed an idle connection nor sent anything.
func (c *Conn) Alive() bool {
	var b [1]byte
	_, _, err := unix.Recvfrom(c.fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	return errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR)
}

// Untaken reports whether the peer had closed the connection before what was sent reached it.
func (c *Conn) Untaken() bool { return Untaken(c.fd) }

// Untaken reports whether the peer of a TCP connection that has ended had closed it before what was
// sent on it reached the peer: the kernel of the peer has answered with a reset, or has not
// acknowledged all of it. A peer that took what was sent and closed has acknowledged it.
//
// A peer that shuts a connection down before it closes it ends the stream first and resets it a
// moment later, when it drops what it has not read, so the reset is waited for.
func Untaken(fd int) bool {
	const closed = 7                                           // TCP_CLOSE: after a reset. A peer that only closes leaves CLOSE_WAIT.
	const patience = 50                                        // ms
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd)}}, patience) // a reset ends it at once
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	return err == nil && (info.State == closed || info.Unacked > 0)
}

// write writes what it can, and notes how that ends.
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

// Edges that the loop is told of. That there is room to write is one of them only where a
// request did not fit: it would come with every acknowledgement.
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

// forget is called with the loop's lock.
func (c *Conn) forget() {
	c.loop.watched[c.fd] = nil
	_ = unix.EpollCtl(c.loop.ep, unix.EPOLL_CTL_DEL, c.fd, nil)
	c.rest, c.sink = nil, nil
}

// abandon ends an exchange from outside the loop, unless it has just ended itself.
func (c *Conn) abandon() error {
	c.loop.mu.Lock()
	defer c.loop.mu.Unlock()
	select {
	case err := <-c.end:
		return err
	default:
		c.forget()
		return os.ErrDeadlineExceeded
	}
}

// ready handles what epoll says of the connection. Whether there is more than one receive
// brings is known without asking: the buffer was full, or the peer has ended.
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

// read receives once and reports whether to go on reading.
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

func (c *Conn) finish(err error) {
	c.forget()
	c.end <- err
}
