package lazy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Poller waits for its connections by two epoll sets of its own: one that wakes at once, by
// way of the runtime's poller, and one that is looked at once a window, by a timer.
type Poller struct {
	prompt *set
	lazy   int // epoll
	alarm  *alarm
	quit   chan struct{}
	more   chan struct{} // there are relaxed connections
	wg     sync.WaitGroup

	relaxed atomic.Int64
	mu      sync.RWMutex
	conns   map[int32]*Conn
}

// New returns a poller whose relaxed connections wait up to a window.
func New(window time.Duration) (*Poller, error) {
	p := &Poller{conns: map[int32]*Conn{}, quit: make(chan struct{}), more: make(chan struct{}, 1)}
	var err error
	if p.lazy, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if p.prompt, err = newSet(); err != nil {
		_ = unix.Close(p.lazy)
		return nil, err
	}
	if p.alarm, err = newAlarm(window); err != nil {
		_ = unix.Close(p.lazy)
		p.prompt.close()
		return nil, err
	}
	p.wg.Go(p.servePrompt)
	p.wg.Go(p.serveLazy)
	return p, nil
}

// Close ends the poller. Its connections must be closed before.
func (p *Poller) Close() {
	close(p.quit)
	p.prompt.close()
	p.alarm.close()
	p.wg.Wait()
	_ = unix.Close(p.lazy)
}

// Adopt takes over a TCP connection; c must not be used any longer, whatever comes back.
func (p *Poller) Adopt(c net.Conn) (*Conn, error) {
	defer func() { _ = c.Close() }() // which takes it out of the runtime's poller
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, errors.New("not a connection of the system")
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	var failed error
	if err := rc.Control(func(old uintptr) { fd, failed = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) }); err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, fmt.Errorf("take over a connection: %w", failed)
	}
	n := &Conn{p: p, fd: fd, local: c.LocalAddr(), remote: c.RemoteAddr(), ready: make(chan struct{}, 1)}
	p.mu.Lock()
	p.conns[int32(fd)] = n
	p.mu.Unlock()
	if err := add(p.prompt.fd, fd, unix.EPOLLOUT); err != nil {
		_ = n.Close()
		return nil, err
	}
	return n, nil
}

// servePrompt tells connections at once that they have something.
func (p *Poller) servePrompt() {
	events := make([]unix.EpollEvent, 256)
	for n := p.prompt.wait(events); n > 0; n = p.prompt.wait(events) {
		p.tell(events[:n])
	}
}

// serveLazy tells relaxed connections that they have something, all of them at one tick of
// the alarm. The set is no part of the runtime's poller, which would wake for each of them.
func (p *Poller) serveLazy() {
	events := make([]unix.EpollEvent, 256)
	for {
		if p.relaxed.Load() == 0 {
			p.alarm.stop()
			select {
			case <-p.more:
				p.alarm.start()
			case <-p.quit:
				return
			}
		}
		if !p.alarm.wait() {
			return
		}
		for n := len(events); n == len(events); {
			n, _ = unix.EpollWait(p.lazy, events, 0)
			p.tell(events[:max(n, 0)])
		}
	}
}

// relax moves a connection to the set that is looked at now and then.
func (p *Poller) relax(fd int) error {
	remove(p.prompt.fd, fd)
	if err := add(p.lazy, fd, 0); err != nil {
		return err
	}
	if p.relaxed.Add(1) == 1 {
		select {
		case p.more <- struct{}{}:
		default:
		}
	}
	return nil
}

// unrelax moves it back.
func (p *Poller) unrelax(fd int) error {
	remove(p.lazy, fd)
	p.relaxed.Add(-1)
	return add(p.prompt.fd, fd, unix.EPOLLOUT)
}

func (p *Poller) tell(events []unix.EpollEvent) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, e := range events {
		if c := p.conns[e.Fd]; c != nil {
			if e.Events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
				c.ended.Store(true)
			}
			c.wake()
		}
	}
}

// set is an epoll instance that itself waits in the runtime's poller, without a thread.
type set struct {
	fd   int
	file *os.File
	raw  syscall.RawConn
}

func newSet() (*set, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("epoll: %w", err)
	}
	s := &set{fd: fd, file: os.NewFile(uintptr(fd), "epoll")}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		_ = s.file.Close()
		return nil, fmt.Errorf("epoll: %w", err)
	}
	return s, nil
}

// wait returns the number of events, at least one, or -1 once the set is closed.
func (s *set) wait(events []unix.EpollEvent) (n int) {
	err := s.raw.Read(func(fd uintptr) bool {
		n, _ = unix.EpollWait(int(fd), events, 0)
		return n > 0
	})
	if err != nil {
		return -1
	}
	return n
}

func (s *set) close() { _ = s.file.Close() }

// add has an epoll watch a file for data, and for what else is named, by edges. What is
// there already is told at once.
func add(epoll, fd int, more uint32) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET | more, Fd: int32(fd)}
	if err := unix.EpollCtl(epoll, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

func remove(epoll, fd int) { _ = unix.EpollCtl(epoll, unix.EPOLL_CTL_DEL, fd, nil) }

// alarm ticks by a timerfd, which wakes within some 50 µs. The runtime's own timers are
// rounded up to a millisecond while the process is idle.
type alarm struct {
	every time.Duration
	fd    int
	file  *os.File
}

func newAlarm(every time.Duration) (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	return &alarm{every: every, fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

func (a *alarm) set(every time.Duration) {
	t := unix.NsecToTimespec(int64(every))
	_ = unix.TimerfdSettime(a.fd, 0, &unix.ItimerSpec{Interval: t, Value: t}, nil)
}

func (a *alarm) start() { a.set(a.every) }
func (a *alarm) stop()  { a.set(0) }

// wait waits for the next tick, or returns at once if one was missed; false once the alarm
// is closed.
func (a *alarm) wait() bool {
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	return err == nil
}

func (a *alarm) close() { _ = a.file.Close() }
