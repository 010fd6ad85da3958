package process

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/cgroup"
)

// groups collects the control groups that a process has been in. A start script can move itself to another
// group before it starts the server.
type groups struct {
	system cgroup.System
	pid    int

	mu    sync.Mutex
	found []*cgroup.Memory
}

// The first and the longest interval between checks of a process's group.
const (
	firstGroup = 100 * time.Millisecond
	lastGroup  = time.Minute
)

// follow records the groups of a process at doubling intervals, until lastGroup is reached, the process ends or
// ctx ends.
func (g *groups) follow(ctx context.Context, ended <-chan struct{}) {
	for wait := firstGroup; wait < lastGroup && !steps.EndedWithin(ctx, ended, wait) && ctx.Err() == nil; wait *= 2 {
		g.look()
	}
}

// look records the group that the process is in now.
func (g *groups) look() {
	m := g.system.MemoryOf(g.pid)
	if m == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.ContainsFunc(g.found, func(known *cgroup.Memory) bool { return known.Name() == m.Name() }) {
		g.found = append(g.found, m)
	}
}

// killed describes out-of-memory kills, looking at the latest group first.
func (g *groups) killed() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range slices.Backward(g.found) {
		if text := m.Killed(); text != "" {
			return text
		}
	}
	return ""
}

func (s *server) starved(context.Context) string { return s.groups.killed() }
