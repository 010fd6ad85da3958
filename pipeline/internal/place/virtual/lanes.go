package virtual

import (
	"context"
	"fmt"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps/load"
)

// Lane implements place.Place. Each lane is a machine with its own clock, ports and processes, so its results
// do not depend on the order of goroutines. The clock of the whole machine is that of the latest lane.
func (v *machine) Lane(lane int) *place.Lane {
	if v.opt.Plan.Machines == nil {
		return nil
	}
	part := v.part(lane)
	return &place.Lane{
		Place: part, Nodes: fmt.Sprintf("machine %d", lane), Clock: &engine.LaneClock{Now: part.Now, AdvanceTo: part.advanceTo}, Ports: part,
		Load: func(ctx context.Context, run engine.LoadRun) (load.Result, error) { return part.load(ctx, run.Options) },
	}
}

func (v *machine) part(lane int) *machine {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.lanes[lane] == nil {
		part := newMachine(v.opt)
		part.start, part.elapsed, part.whole = v.start, v.elapsed, v
		part.number = lane
		if v.lanes == nil {
			v.lanes = map[int]*machine{}
		}
		v.lanes[lane] = part
	}
	return v.lanes[lane]
}
