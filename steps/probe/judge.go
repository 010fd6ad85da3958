package probe

import (
	"fmt"
	"slices"
	"strings"
)

// Owner says whose a process is.
type Owner int

// The owners of a process on a GPU. Between containers process ids differ, so that not
// every process can be identified.
const (
	OwnerUnknown Owner = iota
	OwnerUs
	OwnerForeign
)

// throttledShare of the snapshots of a run may show a GPU throttling before the run is
// void: brief dips at the end of a burst are no finding, a hot GPU is.
const throttledShare = 0.05

// Watched is a run as the machine saw it.
type Watched struct {
	// Snapshots in the order they were taken, the first before the run, the last after it.
	Snapshots []Snapshot
	// GPUs that the target uses, by UUID; empty means all.
	GPUs []string
	// Known are the processes that were there before the target was launched.
	Known []Process
	// Owner says whose a process is that was not.
	Owner func(pid int) Owner
}

// Judge says why a run is void: because of throttling, of memory errors, or because
// another process used its GPUs. It is "" if nothing speaks against the run, which it also
// is where nothing is known.
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

// foreign names the first process that is not ours.
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

// IsKnown reports whether a process is one of some others.
func IsKnown(known []Process, p Process) bool {
	return slices.ContainsFunc(known, func(k Process) bool { return k.PID == p.PID && k.GPU == p.GPU && k.Name == p.Name })
}

// errors names the first GPU with uncorrected memory errors that are new.
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

// throttled names the GPU that was held back the longest.
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
