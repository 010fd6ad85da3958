package spawn

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes put the child into its own group. The kernel kills the child when the thread that started it ends,
// and thus when this program ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the leader, ends the rest of its group, and only then reaps the leader. While the leader is a
// zombie, its number and its group's number cannot be reused.
func (c *child) reap() {
	waitWithoutReaping(c.pid)
	c.endGroup()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = ignoreHeldOutput(c.cmd.Wait())
	c.reaped = true
}

func waitWithoutReaping(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// groupPoll is the interval between checks of an ending group.
const groupPoll = 20 * time.Millisecond

// endGroup sends the stop signal to the rest of the group, waits for the linger time, kills, and waits again. A process
// that remains hangs in the kernel with the kill pending.
func (c *child) endGroup() {
	for _, signal := range []string{"TERM", "KILL"} {
		if !groupAlive(c.pid) {
			return
		}
		_ = c.Signal(signal) // after an error, wait anyway
		c.awaitGroup()
	}
}

// awaitGroup waits until the group has ended or the linger time is over.
func (c *child) awaitGroup() {
	deadline := time.NewTimer(c.linger)
	defer deadline.Stop()
	tick := time.NewTicker(groupPoll)
	defer tick.Stop()
	for groupAlive(c.pid) {
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}

// groupAlive reports whether the group has a process that is not a zombie. In a container whose first process
// does not reap, zombies remain. It asks the kernel for the group of each process, and reads /proc for members alone.
func groupAlive(pgid int) bool {
	if err := syscall.Kill(-pgid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	alive := false
	eachID(func(pid int) bool {
		if group, err := syscall.Getpgid(pid); err == nil && group == pgid {
			p, err := readProcess(pid)
			alive = err == nil && p.group == pgid && !p.ended()
		}
		return !alive
	})
	return alive
}
