package timer

import (
	"context"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// alarm is a timerfd. In an idle process, Go's own timers round up to a millisecond, and a time scale
// multiplies that error. A timerfd wakes within about 50 µs and blocks no thread.
type alarm struct {
	fd   int
	file *os.File
}

// alarms holds unused timers. A sleeper takes one; a server needs a few.
var alarms = sync.Pool{New: func() any {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return (*alarm)(nil)
	}
	return &alarm{fd: fd, file: os.NewFile(uintptr(fd), "timerfd")} // closed by the garbage collector
}}

// Precise sleeps for d, accurate to about 50 µs. It returns the cause of ctx if ctx ends first.
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
		return context.Cause(ctx) // its read deadline is set, so it cannot be reused
	}
	if err != nil {
		return Sleep(ctx, d-time.Since(begin))
	}
	alarms.Put(a)
	return nil
}
