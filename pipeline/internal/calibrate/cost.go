package calibrate

import (
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/history"
	"github.com/servegate/pipeline/reports/result"
)

// mostPasses is the largest number of passes that cheapest considers.
const mostPasses = 10

// cost holds measured times in seconds: launch is the start of a target, pass is one pass over all cells of a launch.
type cost struct{ launch, pass float64 }

func costOf(doc *result.Document) cost {
	var c cost
	launches := 0
	for _, l := range doc.Launches {
		if l.Failure == nil {
			c.launch += l.Startup
			launches++
		}
	}
	type pass struct {
		launch string
		pass   int
	}
	passes := map[pass]bool{}
	for _, b := range doc.Benchmarks {
		for _, cell := range b.Cells {
			for _, r := range cell.Current() {
				passes[pass{r.Launch, r.Pass}] = true
				c.pass += r.Duration
			}
		}
	}
	c.launch /= float64(max(launches, 1))
	c.pass /= float64(max(len(passes), 1))
	return c
}

// cheapest returns the schedule that detects an effect in the least time, nil if none does.
func (c cost) cheapest(n history.Noise, effect, level float64) *Schedule {
	var best *Schedule
	for passes := 1; passes <= mostPasses; passes++ {
		repeats, err := gates.NeedPairs(effect, max(n.PairSDAt(passes), 1e-9), level, gates.Power)
		if err != nil {
			continue
		}
		s := Schedule{Repeats: repeats, Passes: passes, Seconds: 2 * float64(repeats) * (c.launch + float64(passes)*c.pass)}
		if best == nil || s.Seconds < best.Seconds {
			best = &s
		}
	}
	return best
}
