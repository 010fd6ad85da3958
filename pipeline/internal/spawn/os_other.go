//go:build unix && !linux

package spawn

import (
	"errors"
	"syscall"

	"github.com/servegate/pipeline/steps"
)

// Capabilities implements steps.Child. There are none: without /proc it is unknown which processes are stopped.
func (c *child) Capabilities() steps.ChildCapabilities { return steps.ChildCapabilities{} }

// attributes put the child into its own group. There is no parent death signal.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap waits for the leader and then kills the rest of its group. Unlike on Linux, the leader's number may be
// reused shortly before that.
func (c *child) reap() {
	err := c.cmd.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = syscall.Kill(-c.pid, syscall.SIGKILL) // usually the group is empty
	c.err = ignoreHeldOutput(err)
	c.reaped = true
}

// groupAlive reports whether a signal would reach a process of the group.
func groupAlive(pgid int) bool { return syscall.Kill(-pgid, 0) == nil }

// startTime is unknown without /proc.
func startTime(int) (uint64, error) { return 0, errUnknown }

var errUnknown = errors.New("this system does not say when a process started")

// Owner is unknown without /proc.
func Owner() string { return "" }

// Gone returns false, because nothing is certain without /proc.
func Gone(string) bool { return false }

// FindOrphans returns none without /proc.
func FindOrphans() ([]Orphan, error) { return nil, nil }

// FindStrays returns none without /proc.
func FindStrays() []Orphan { return nil }

// EndOrphans ends none: without start times, a process cannot be distinguished from a later one with its
// number.
func EndOrphans(...string) ([]Orphan, error) { return nil, nil }

// EndStrays ends none, for the same reason as EndOrphans.
func EndStrays() ([]Orphan, error) { return nil, nil }

// whileMarked calls start: the environment alone marks the child.
func whileMarked(start func() error) error { return start() }
