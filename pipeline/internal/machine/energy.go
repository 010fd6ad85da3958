package machine

import (
	"errors"
	"fmt"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/steps/probe"
)

// maxPowerGap is the longest time between two power readings of a GPU that the integral may bridge.
const maxPowerGap = 3 * watchEvery

// energy is the energy used during a run.
type energy struct {
	joules float64
	// unknown is why the energy is unknown, "" if it is known. absent means that this is the same for all runs.
	unknown string
	absent  bool
}

// count adds the energy to a counter of a run.
func (e energy) count(t *counted.Tally, counter string) {
	t.Add(counter, e.joules)
	if e.unknown == "" {
		return
	}
	why := errors.New(e.unknown)
	if e.absent {
		why = counted.Lasting(why)
	}
	t.Unknown(counter, why)
}

// gpuEnergy returns the energy of GPUs between two times: the integral of their power. Power is assumed linear
// between readings, and constant before the first and after the last. nvidia-smi has no energy counter on some
// drivers.
func gpuEnergy(seen []probe.Snapshot, used []string, began, ended time.Time) energy {
	var out energy
	for _, uuid := range used {
		joules, problem := energyOf(seen, uuid, began, ended)
		if problem != "" {
			return energy{unknown: problem}
		}
		out.joules += joules
	}
	return out
}

// reading is the power of a GPU at a time.
type reading struct {
	at    time.Time
	watts float64
}

func energyOf(seen []probe.Snapshot, uuid string, began, ended time.Time) (joules float64, problem string) {
	var list []reading
	for _, s := range seen {
		if g, ok := s.GPU(uuid); ok && g.Power >= 0 {
			list = append(list, reading{s.At, g.Power})
		}
	}
	if len(list) < 2 {
		return 0, fmt.Sprintf("the power of GPU %s was read %d times during the run", uuid, len(list))
	}
	first, last := list[0], list[len(list)-1]
	list = append(append([]reading{{began, first.watts}}, list...), reading{ended, last.watts})
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if b.at.After(began) && b.at.Sub(a.at) > maxPowerGap {
			return 0, fmt.Sprintf("the power of GPU %s was not read for %s of the run", uuid, b.at.Sub(a.at).Round(time.Second))
		}
		joules += between(a, b, began, ended)
	}
	return joules, ""
}

// between returns the energy between two readings, restricted to the time from began to ended.
func between(a, b reading, began, ended time.Time) float64 {
	from, to := a.at, b.at
	if from.Before(began) {
		from = began
	}
	if to.After(ended) {
		to = ended
	}
	if !to.After(from) {
		return 0
	}
	at := func(t time.Time) float64 {
		return a.watts + (b.watts-a.watts)*t.Sub(a.at).Seconds()/b.at.Sub(a.at).Seconds()
	}
	return (at(from) + at(to)) / 2 * to.Sub(from).Seconds()
}
