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
	start  uint64 // clock ticks since boot; 0 where the system does not say
	record *record
	linger time.Duration
	done   chan struct{}
	err    error // valid once done is closed

	// mu guards reaped: a group may be signalled only while its number is certainly
	// ours, that is until the leader was reaped.
	mu     sync.Mutex
	reaped bool
}

// PID of the leader, which is also the number of the group.
func (c *child) PID() int { return c.pid }

// Done is closed when the leader was reaped, its group is empty and the output is written.
func (c *child) Done() <-chan struct{} { return c.done }

// Wait returns how the leader ended: nil, an *exec.ExitError, or an error of the output.
func (c *child) Wait() error {
	<-c.done
	return c.err
}

// Signal sends a signal to the whole group. A group that is gone is no error.
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
	// macOS answers EPERM for a group that holds only zombies.
	if err == nil || errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) && !groupAlive(c.pid) {
		return nil
	}
	return fmt.Errorf("signal %s to process group %d: %w", name, c.pid, err)
}

// ignoreHeldOutput takes the error of a leader that ended well while a process outside
// its group still holds the output.
func ignoreHeldOutput(err error) error {
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}
