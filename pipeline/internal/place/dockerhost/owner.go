package dockerhost

import (
	"context"
	"strings"
	"sync"

	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/probe"
)

// Owner implements place.Place. It queries container IDs once, at the first process that this program has not
// started.
func (h *hosts) Owner(ctx context.Context) func(pid int) probe.Owner {
	running := sync.OnceValues(func() ([]string, bool) { return h.running(ctx) })
	return func(pid int) probe.Owner {
		ids, known := running()
		return ownerByGroup(spawn.ControlGroup(pid), ids, known)
	}
}

// ownerByGroup recognises a container's process by its control group, whose name contains the container's ID.
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

// running returns the IDs of the run's containers; known is false if a daemon does not answer.
func (h *hosts) running(ctx context.Context) (ids []string, known bool) {
	left, err := h.leftovers(func(at *host) ([]docker.Leftover, error) {
		return docker.Leftovers(ctx, at.url, docker.Filter{RunID: h.opt.RunID})
	})
	for _, l := range left {
		if l.Kind == "container" {
			ids = append(ids, l.ID)
		}
	}
	return ids, err == nil
}
