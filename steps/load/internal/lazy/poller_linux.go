package lazy

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Poller waits for its connections by two epoll sets of its own: one that wakes at once,
// and one that is looked at a window after it has something.
type Poller struct {
	window time.Duration
	prompt *set
	lazy   *set
	alarm  *alarm
	wg     sync.WaitGroup

	mu    sync.RWMutex
	conns map[int32]*Conn
}

// New returns a poller whose relaxed connections wait up to a window.
func New(window time.Duration) (*Poller, error) {
	p := &Poller{window: window, conns: map[int32]*Conn{}}
	var err error
	if p.prompt, err = newSet(); err != nil {
		return nil, err
	}
	if p.lazy, err = newSet(); err != nil {
		p.prompt.close()
		return nil, err
	}
	if p.alarm, err = newAlarm(); err != nil {
		p.prompt.close()
		p.lazy.close()
		return nil, err
	}
	p.wg.Go(func() { p.serve(p.prompt, nil) })
	p.wg.Go(func() { p.serve(p.lazy, p.alarm) })
	return p, nil
}

// Close ends the poller. Its connections must be closed before.
func (p *Poller) Close() {
	p.prompt.close()
	p.lazy.close()
	p.alarm.close()
	p.wg.Wait()
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
	if err := p.prompt.add(fd, unix.EPOLLOUT); err != nil {
		_ = n.Close()
		return nil, err
	}
	return n, nil
}

// serve tells the connections of a set that they have something. With an alarm it then
// looks away for the window.
func (p *Poller) serve(s *set, pause *alarm) {
	events := make([]unix.EpollEvent, 256)
	for n := s.wait(events); n > 0; n = s.wait(events) {
		p.tell(events[:n])
		if pause != nil && n < len(events) && !pause.sleep(p.window) {
			return
		}
	}
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

// add watches a file for data, and for what else is named, by edges.
func (s *set) add(fd int, more uint32) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET | more, Fd: int32(fd)}
	if err := unix.EpollCtl(s.fd, unix.EPOLL_CTL_ADD, fd, &e); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

func (s *set) remove(fd int) { _ = unix.EpollCtl(s.fd, unix.EPOLL_CTL_DEL, fd, nil) }

func (s *set) close() { _ = s.file.Close() }

// alarm sleeps by a timerfd, which wakes within some 50 µs. The runtime's own timers are
// rounded up to a millisecond while the process is idle.
type alarm struct {
	fd   int
	file *os.File
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("timerfd: %w", err)
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}, nil
}

// sleep reports false once the alarm is closed.
func (a *alarm) sleep(d time.Duration) bool {
	var expirations [8]byte
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if unix.TimerfdSettime(a.fd, 0, &spec, nil) != nil {
		return false
	}
	_, err := a.file.Read(expirations[:])
	return err == nil
}

func (a *alarm) close() { _ = a.file.Close() }
