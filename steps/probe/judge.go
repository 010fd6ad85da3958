package probe

import (
	"fmt"
	"slices"
	"strings"
)

// Owner identifies the owner of a process.
type Owner int

// The owners of a process on a GPU. Process IDs differ between containers, so some processes cannot be
// identified.
const (
	OwnerUnknown Owner = iota
	OwnerUs
	OwnerForeign
)

// throttledShare is the share of a run's snapshots in which a GPU may be throttled before the run is void.
// Brief dips at the end of a burst are harmless; a hot GPU is not.
const throttledShare = 0.05

// Watched is a run as observed on the machine.
type Watched struct {
	// Snapshots in order; the first was taken before the run, the last after it.
	Snapshots []Snapshot
	// GPUs that the target uses, by UUID; empty means all.
	GPUs []string
	// Known lists the processes that ran before the target was launched.
	Known []Process
	// Owner returns the owner of any other process.
	Owner func(pid int) Owner
}

// Judge returns why a run is void: throttling, memory errors, or another process on its GPUs. It returns "" if
// it finds no reason, or if nothing was reported.
func Judge(w Watched) string {
	for _, reason := range []string{w.foreign(), w.errors(), w.throttled()} {
		if reason != "" {
			return reason
		}
	}
	return ""
}

func (w Watched) uses(gpu string) bool {
	return len(w.GPUs) == 0 || gpu == "" || slices.Contains(w.GPUs, gpu)
}

// foreign describes the first process of another owner.
func (w Watched) foreign() string {
	for _, s := range w.Snapshots {
		for _, p := range s.Processes {
			if w.uses(p.GPU) && !IsKnown(w.Known, p) && w.Owner(p.PID) == OwnerForeign {
				g, ok := s.GPU(p.GPU)
				if !ok {
					return fmt.Sprintf("%s used a GPU during the run", p)
				}
				return fmt.Sprintf("%s used %s during the run", p, g)
			}
		}
	}
	return ""
}

// IsKnown reports whether a process is in a list.
func IsKnown(known []Process, p Process) bool {
	return slices.ContainsFunc(known, func(k Process) bool { return k.PID == p.PID && k.GPU == p.GPU && k.Name == p.Name })
}

// errors describes the first GPU with new uncorrected memory errors.
func (w Watched) errors() string {
	first := map[string]int64{}
	for _, s := range w.Snapshots {
		for _, g := range s.GPUs {
			before, seen := first[g.UUID]
			switch {
			case !w.uses(g.UUID) || g.Errors == Unknown:
			case !seen:
				first[g.UUID] = g.Errors
			case g.Errors > before:
				return fmt.Sprintf("%s had %d uncorrected memory errors during the run; look at nvidia-smi -q -d ECC", g, g.Errors-before)
			}
		}
	}
	return ""
}

// throttled describes the GPU that was throttled in the most snapshots.
func (w Watched) throttled() string {
	type count struct {
		gpu       GPU
		seen, hot int
		reasons   Slowdown
	}
	counts := map[string]*count{}
	var worst *count
	for _, s := range w.Snapshots {
		for _, g := range s.GPUs {
			if !w.uses(g.UUID) || !g.SlowdownKnown {
				continue
			}
			c := counts[g.UUID]
			if c == nil {
				c = &count{gpu: g}
				counts[g.UUID] = c
			}
			c.seen++
			if why := g.Slowdown.Throttling(); why != 0 {
				c.hot++
				c.reasons |= why
			}
			if worst == nil || c.hot > worst.hot {
				worst = c
			}
		}
	}
	if worst == nil || float64(worst.hot) <= throttledShare*float64(worst.seen) {
		return ""
	}
	return fmt.Sprintf("%s was throttled in %d of %d looks (%s)", worst.gpu, worst.hot, worst.seen, strings.ToLower(worst.reasons.String()))
}
