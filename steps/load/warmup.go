package load

import (
	"cmp"
	"context"
	"time"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/record"
	"github.com/servegate/pipeline/steps/traffic"
)

// warmupConcurrency limits the concurrency of the warm-up if the load has no limit.
const warmupConcurrency = 16

// warmup sends the warm-up requests as fast as their concurrency allows: the lengths of the first measured
// prompts with other content. Their records have a separate clock, and their failures are not judged.
func (r *runner) warmup(ctx context.Context) record.List {
	n := r.opt.Workload.Warmup
	if n == 0 {
		return record.List{}
	}
	seeds := r.work.seeds
	seeds.Content ^= warmupContent
	own, err := newWork(r.work.src, r.work.enc, seeds, n)
	if err != nil {
		return record.List{} // the same encoder made the measured requests
	}
	w := &runner{opt: r.opt, scale: r.scale, endpoint: r.endpoint, client: r.client, work: own, t0: time.Now()}
	w.opt.Witness = nil
	w.client.clock = newClock(w.t0)
	w.newDriver(ctx, warmupPlan(r.opt.Workload)).run()
	return w.recs.Sorted()
}

// warmupPlan returns a closed loop with as many users as the load has requests in flight.
func warmupPlan(w steps.Workload) traffic.Plan {
	users := cmp.Or(w.Load.MaxConcurrency, warmupConcurrency)
	return traffic.Plan{Limit: min(users, w.Warmup), Requests: w.Warmup}
}
