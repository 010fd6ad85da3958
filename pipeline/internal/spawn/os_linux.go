package spawn

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attributes put the child into a group of its own and have the kernel kill it when the
// thread that started it, and so this program, is gone.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// reap waits for the leader, ends what is left of its group, and only then releases the
// leader's number: as long as the leader is a zombie, neither its number nor that of its
// group can be given to others.
func (c *child) reap() {
	waitWithoutReaping(c.pid)
	c.endGroup()
	if !groupAlive(c.pid) {
		c.record.ended(c.pid, c.start)
	}
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

// groupPoll is the time between two polls of a group that is ending.
const groupPoll = 20 * time.Millisecond

// endGroup asks the rest of the group to end, waits for the linger time, kills, and waits
// once more. What is left then hangs in the kernel with the kill pending.
func (c *child) endGroup() {
	for _, signal := range []string{"TERM", "KILL"} {
		if !groupAlive(c.pid) {
			return
		}
		_ = c.Signal(signal) // what cannot be signalled is waited for all the same
		c.awaitGroup()
	}
}

// awaitGroup returns when the group is gone or the linger time is over.
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

// groupAlive reports whether any process of the group besides zombies, such as its ended
// leader, is left. In a container whose first process does not reap, zombies stay.
func groupAlive(pgid int) bool {
	if err := syscall.Kill(-pgid, 0); errors.Is(err, syscall.ESRCH) {
		return false
	}
	alive := false
	eachProcess(func(p process) bool {
		alive = p.group == pgid && !p.ended()
		return !alive
	})
	return alive
}
