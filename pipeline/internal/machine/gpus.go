package machine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/probe"
)

// Timing and limits for watching GPUs.
const (
	// watchEvery is the interval between snapshots during a run. A snapshot calls nvidia-smi, which uses part
	// of a core for a tenth of a second.
	watchEvery = 5 * time.Second
	// FreeWait is how long the driver may take to free memory after a stop, and FreeEvery the interval between
	// checks.
	FreeWait  = 60 * time.Second
	FreeEvery = 500 * time.Millisecond
	// memorySlack is how much more memory than before a launch may remain in use, because drivers keep some.
	memorySlack = 256 << 20
)

// gpus watches the GPUs of a session. It implements engine.Machine.
type gpus struct {
	look func(context.Context) probe.Snapshot
	// requests holds the GPU requests of each target, by address.
	requests map[string][]doctor.Request
	owner    func(ctx context.Context) func(pid int) probe.Owner
	warn     func(text string)

	// Of the current launch: the machine before it, and the UUIDs of the GPUs on which it was seen.
	before probe.Snapshot
	own    map[string]bool
}

var _ engine.Machine = (*gpus)(nil)

// WatchGPUs returns a watcher of the targets' GPUs, nil if no target can use a GPU of this machine. owner
// returns a function that finds the owner of a process.
func WatchGPUs(needs doctor.Needs, prober *probe.Prober, owner func(context.Context) func(int) probe.Owner,
	warn func(string)) engine.Machine {
	if !needs.MayUseGPUs() {
		return nil
	}
	g := &gpus{look: prober.Snapshot, requests: map[string][]doctor.Request{}, owner: owner, warn: warn}
	for _, t := range needs.Targets {
		g.requests[t.Addr] = t.GPUs
	}
	return g
}

// used returns the GPUs of a target, nil if it uses none. If the file gives only a number, these are the GPUs
// on which our processes were seen in this launch, else the first ones. If the file gives nothing, only GPUs on
// which they were seen count.
func (g *gpus) used(target string) []probe.GPU {
	requests := g.requests[target]
	selected, sure, err := doctor.Select(requests, g.before.GPUs)
	if err != nil {
		return nil // the preflight rejects this
	}
	if sure {
		return selected
	}
	var own []probe.GPU
	for _, gpu := range g.before.GPUs {
		if g.own[gpu.UUID] {
			own = append(own, gpu)
		}
	}
	maybe := slices.ContainsFunc(requests, func(r doctor.Request) bool { return r.Maybe })
	if len(own) > 0 || maybe {
		return own
	}
	return selected
}

// learn records on which GPUs our processes compute.
func (g *gpus) learn(seen []probe.Snapshot, owner func(int) probe.Owner) {
	for _, s := range seen {
		for _, p := range s.Processes {
			if p.GPU != "" && !g.own[p.GPU] && owner(p.PID) == probe.OwnerUs {
				g.own[p.GPU] = true
			}
		}
	}
}

// Before implements engine.Machine.
func (g *gpus) Before(ctx context.Context, target string) {
	g.before, g.own = probe.Snapshot{}, map[string]bool{}
	if len(g.requests[target]) > 0 {
		g.before = g.look(ctx)
	}
}

// Memory implements engine.Machine. If the driver lists no processes, memory allocated by others meanwhile
// cannot be separated from the launch's.
func (g *gpus) Memory(ctx context.Context, target string) (float64, bool) {
	if len(g.before.GPUs) == 0 || len(g.requests[target]) == 0 {
		return 0, false
	}
	now := g.look(ctx)
	owner := g.owner(ctx)
	g.learn([]probe.Snapshot{now}, owner)
	sum := int64(0)
	for _, before := range g.used(target) {
		after, ok := now.GPU(before.UUID)
		if !ok || before.MemoryUsed == probe.Unknown || after.MemoryUsed == probe.Unknown {
			return 0, false
		}
		sum += after.MemoryUsed - before.MemoryUsed
		for _, p := range now.Processes {
			if p.GPU == before.UUID && owner(p.PID) == probe.OwnerForeign && !probe.IsKnown(g.before.Processes, p) {
				sum -= max(0, p.Memory)
			}
		}
	}
	return float64(sum), sum > 0
}

// Watch implements engine.Machine.
func (g *gpus) Watch(ctx context.Context, target string) engine.Watcher {
	if len(g.before.GPUs) == 0 || len(g.requests[target]) == 0 {
		return engine.Watcher{}
	}
	seen := []probe.Snapshot{g.look(ctx)}
	stop := repeat(ctx, watchEvery, func(ctx context.Context) { seen = append(seen, g.look(ctx)) })
	var w watched
	return engine.Watcher{
		After: func(ctx context.Context, lasted time.Duration) {
			ended := time.Now()
			stop()
			if ctx.Err() == nil {
				seen = append(seen, g.look(ctx))
			}
			w = g.watched(ctx, target, seen, ended.Add(-lasted), ended)
		},
		Void: func() (result.VoidCause, string) { return result.VoidMachine, w.void },
		Tell: func(run *result.Run) { run.Series = append(run.Series, w.series...) },
		Count: func(t *counted.Tally) {
			if w.energy != nil {
				w.energy.count(t, metric.CounterJoules)
			}
		},
	}
}

// repeat calls do at intervals until the returned function is called, which waits for the last call.
func repeat(ctx context.Context, interval time.Duration, do func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				do(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// watched holds the observations of a target's GPUs during a run.
type watched struct {
	void   string  // why the run is void, "" if it is not
	energy *energy // nil if the target uses no GPUs
	series []result.Series
}

// watched judges a run's snapshots. It ignores a snapshot cut off by the end of the run.
func (g *gpus) watched(ctx context.Context, target string, seen []probe.Snapshot, began, ended time.Time) watched {
	lost := 0
	for _, s := range seen {
		if s.Err != nil && !errors.Is(s.Err, context.Canceled) {
			lost++
		}
	}
	if lost > 0 {
		g.warn(fmt.Sprintf("the GPUs could not be looked at in %d of %d looks during a run", lost, len(seen)))
	}
	owner := g.owner(ctx)
	g.learn(seen, owner)
	used := uuids(g.used(target))
	if len(used) == 0 {
		return watched{}
	}
	void := probe.Judge(probe.Watched{Snapshots: seen, GPUs: used, Known: g.before.Processes, Owner: owner})
	joules := gpuEnergy(seen, used, began, ended)
	return watched{void, &joules, gpuSeries(seen, used, began)}
}

// After implements engine.Machine.
func (g *gpus) After(ctx context.Context, target string) error {
	used := g.used(target)
	if len(used) == 0 {
		return nil
	}
	deadline := time.Now().Add(FreeWait)
	tick := time.NewTicker(FreeEvery)
	defer tick.Stop()
	for {
		if ctx.Err() != nil {
			return nil
		}
		held := g.held(g.look(ctx), used, g.owner(ctx))
		if held == "" || ctx.Err() != nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s after %s was stopped %s ago; end what holds it, or reset the GPU, before the next run", held, target, FreeWait)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// held describes what a launch still holds of its GPUs, "" if nothing. That is memory beyond what was in use
// before, or a new process that is not known to belong to others. Memory allocated by others meanwhile does not
// count.
func (g *gpus) held(now probe.Snapshot, used []probe.GPU, owner func(int) probe.Owner) string {
	if now.Err != nil && len(now.GPUs) == 0 {
		return fmt.Sprintf("the GPUs do not answer any longer (%v)", now.Err)
	}
	for _, before := range used {
		after, ok := now.GPU(before.UUID)
		if !ok {
			return fmt.Sprintf("%s is not there any longer", before)
		}
		var ours []string
		allowed := before.MemoryUsed + memorySlack
		for _, p := range now.Processes {
			switch {
			case p.GPU != before.UUID || probe.IsKnown(g.before.Processes, p):
			case owner(p.PID) == probe.OwnerForeign:
				allowed += max(0, p.Memory)
			default:
				ours = append(ours, p.String())
			}
		}
		unknown := before.MemoryUsed == probe.Unknown || after.MemoryUsed == probe.Unknown
		if len(ours) == 0 && (unknown || after.MemoryUsed <= allowed) {
			continue
		}
		text := fmt.Sprintf("%s still has %s in use (%s before the launch)", before, probe.Bytes(max(0, after.MemoryUsed)),
			probe.Bytes(max(0, before.MemoryUsed)))
		if len(ours) > 0 {
			text += ", held by " + strings.Join(ours, ", ") + ","
		}
		return text
	}
	return ""
}

func uuids(list []probe.GPU) []string {
	var out []string
	for _, g := range list {
		if !slices.Contains(out, g.UUID) {
			out = append(out, g.UUID)
		}
	}
	return out
}
