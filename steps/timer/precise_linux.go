package timer

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timerfd. The runtime's own timers are rounded up to a millisecond while a
// process is idle, which a time scale multiplies; a timerfd is an event like any other, so
// it wakes within some 50 µs without holding a thread.
type alarm struct {
	fd   int
	file *os.File
}

// alarms are those that are not in use. One sleeper has one, and a server has a few.
var alarms = sync.Pool{New: func() any {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return (*alarm)(nil)
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")} // closed when it is collected
}}

// Precise lets d go by to some 50 µs, or returns the cause of ctx.
func Precise(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	a := alarms.Get().(*alarm)
	if a == nil {
		return Sleep(ctx, d)
	}
	begin := time.Now()
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(d))}
	if err := unix.TimerfdSettime(a.fd, 0, &spec, nil); err != nil {
		return Sleep(ctx, d)
	}
	stop := context.AfterFunc(ctx, func() { _ = a.file.SetReadDeadline(time.Unix(1, 0)) })
	var expirations [8]byte
	_, err := a.file.Read(expirations[:])
	if !stop() {
		return context.Cause(ctx) // its deadline has been, or is being set: it is not used again
	}
	if err != nil {
		return Sleep(ctx, d-time.Since(begin))
	}
	alarms.Put(a)
	return nil
}
