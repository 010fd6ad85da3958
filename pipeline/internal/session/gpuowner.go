package session

import (
	"context"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/probe"
)

// ownerOf returns a function that says whose a process on a GPU is: ours if this program
// has started it, or if it runs in a container of this run. Container ids are asked for
// once, when the first process has to be told.
func (s *session) ownerOf(ctx context.Context) func(pid int) probe.Owner {
	var ids []string
	asked, known := false, true
	return func(pid int) probe.Owner {
		switch spawn.OwnerOf(pid) {
		case spawn.Ours:
			return probe.OwnerUs
		case spawn.Untold:
			return probe.OwnerUnknown
		}
		if s.containers == nil {
			return probe.OwnerForeign
		}
		if !asked {
			asked = true
			ids, known = s.containers.running(ctx, s.runID)
		}
		return ownerByGroup(spawn.ControlGroup(pid), ids, known)
	}
}

// ownerByGroup tells a container's process by its control group, whose name holds the
// container's id.
func ownerByGroup(group string, ids []string, known bool) probe.Owner {
	for _, id := range ids {
		if id != "" && strings.Contains(group, id) {
			return probe.OwnerUs
		}
	}
	if !known || group == "" {
		return probe.OwnerUnknown
	}
	return probe.OwnerForeign
}

// running returns the ids of a run's containers; known is false if the daemon does not
// tell.
func (c *containers) running(ctx context.Context, runID string) (ids []string, known bool) {
	left, err := c.leftovers(func(h *dockerHost) ([]docker.Leftover, error) {
		return docker.Leftovers(ctx, h.url, docker.Filter{RunID: runID})
	})
	for _, l := range left {
		if l.Kind == "container" {
			ids = append(ids, l.ID)
		}
	}
	return ids, err == nil
}
