//go:build unix && !linux

package spawn

import (
	"errors"
	"syscall"
	"time"
)

// attributes put the child into a group of its own. There is no parent death signal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the leader and then kills what is left of its group. The leader's number
// is released a moment before, which Linux avoids.
func (c *child) reap() {
	err := c.cmd.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = syscall.Kill(-c.pid, syscall.SIGKILL) // usually none is left
	c.record.ended(c.pid, c.start)
	c.err = ignoreHeldOutput(err)
	c.reaped = true
}

// groupAlive reports whether a signal would reach a process.
func groupAlive(pgid int) bool { return syscall.Kill(-pgid, 0) == nil }

// startTime is not known without /proc.
func startTime(int) (uint64, error) { return 0, errUnknown }

var errUnknown = errors.New("this system does not say when a process started")

// Owner is not known without /proc.
func Owner() string { return "" }

// Gone is never certain without /proc.
func Gone(string) bool { return false }

// FindOrphans finds nothing without /proc.
func FindOrphans() ([]Orphan, error) { return nil, nil }

// FindStrays finds nothing without /proc.
func FindStrays() []Orphan { return nil }

// EndOrphans ends nothing: without start times a process cannot be told from a later one with its number.
func EndOrphans(...string) ([]Orphan, error) { return nil, nil }

// EndStrays ends nothing, as EndOrphans does.
func EndStrays() ([]Orphan, error) { return nil, nil }

// beatEvery is the time between two notes of a record.
const beatEvery = time.Minute

// record keeps nothing without /proc.
type record struct{}

func openRecord() *record           { return nil }
func (*record) started(int, uint64) {}
func (*record) ended(int, uint64)   {}
func (*record) beat()               {}
func (*record) close()              {}
