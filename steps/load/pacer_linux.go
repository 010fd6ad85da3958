package load

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pacer wakes one goroutine at given times. The runtime's own timers are rounded up to
// a millisecond while the process is idle; a timerfd is an event like any other, so it
// wakes within some 50 µs without holding a thread.
type pacer struct {
	fd   int
	file *os.File // nil: no timerfd, use the runtime's timers
}

func newPacer() *pacer {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return &pacer{}
	}
	return &pacer{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")}
}

func (p *pacer) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
}

// sleepUntil reports false if ctx is done first.
func (p *pacer) sleepUntil(ctx context.Context, t time.Time) bool {
	d := time.Until(t)
	if d <= 0 {
		return ctx.Err() == nil
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if p.file == nil || unix.TimerfdSettime(p.fd, 0, &spec, nil) != nil {
		return sleepUntil(ctx, t)
	}
	stop := context.AfterFunc(ctx, func() { _ = p.file.SetReadDeadline(longAgo) })
	defer stop()
	var expirations [8]byte
	if _, err := p.file.Read(expirations[:]); err != nil {
		return sleepUntil(ctx, t)
	}
	return ctx.Err() == nil
}
