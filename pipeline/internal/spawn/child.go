//go:build unix

package spawn

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// child is a spawned process and its group.
type child struct {
	cmd    *exec.Cmd
	pid    int
	start  uint64 // clock ticks since boot; 0 if the system does not report it
	linger time.Duration
	done   chan struct{}
	err    error // valid once done is closed

	// mu guards reaped. Once the leader is reaped, the group's number may be reused, so the group must not be
	// signalled.
	mu     sync.Mutex
	reaped bool
}

// PID returns the process ID of the leader, which is also the group's number.
func (c *child) PID() int { return c.pid }

// Done returns a channel that is closed when the leader is reaped, its group is empty and the output is
// written.
func (c *child) Done() <-chan struct{} { return c.done }

// Wait returns how the leader ended: nil, an *exec.ExitError, or an error of the output.
func (c *child) Wait() error {
	<-c.done
	return c.err
}

// Signal sends a signal to the whole group. It returns no error if the group has ended.
func (c *child) Signal(name string) error {
	sig, ok := signals[name]
	if !ok {
		return fmt.Errorf("signal %q is not known; use TERM, INT, KILL, HUP, QUIT, USR1 or USR2", name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return nil
	}
	err := syscall.Kill(-c.pid, sig)
	// macOS returns EPERM for a group of zombies.
	if err == nil || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) && !groupAlive(c.pid) {
		return nil
	}
	return fmt.Errorf("signal %s to process group %d: %w", name, c.pid, err)
}

// ignoreHeldOutput drops the error of a successful leader whose output another process outside the group still
// holds open.
func ignoreHeldOutput(err error) error {
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}
