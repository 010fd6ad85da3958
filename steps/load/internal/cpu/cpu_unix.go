//go:build unix

// Package cpu reads the processor time of this process.
package cpu

import (
	"time"

	"golang.org/x/sys/unix"
)

// Seconds returns the CPU time of this process so far, user and system.
func Seconds() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
