package process

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/cgroup"
)

// groups are the control groups that a process has been in: a program that starts a server can move itself
// into a group of its own first.
type groups struct {
	system cgroup.System
	pid    int

	mu    sync.Mutex
	found []*cgroup.Memory
}

// The first and the longest time between two looks at the group of a process.
const (
	firstGroup = 100 * time.Millisecond
	lastGroup  = time.Minute
)

// follow looks for the groups of a process, ever less often, until it is long past its start or ctx ends.
func (g *groups) follow(ctx context.Context, ended <-chan struct{}) {
	for wait := firstGroup; wait < lastGroup && !steps.EndedWithin(ctx, ended, wait) && ctx.Err() == nil; wait *= 2 {
		g.look()
	}
}

// look notes the group that the process is in now.
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

// killed says what was killed in the groups, the last one first.
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
