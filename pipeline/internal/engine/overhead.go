package engine

import (
	"context"
	"time"

	"github.com/servegate/pipeline/reports/result"
)

// relayed measures the latency that a router adds during a run. It is part of every run.
type relayed struct {
	member *member
	finish func(context.Context) (map[string]float64, error)
	added  map[string]float64
	err    error
}

// watchRelays measures what the routers of a target add to its latencies.
func (r *runner) watchRelays(_ context.Context, s *server, w *watch) Watcher {
	var relays []*relayed
	for _, m := range s.members {
		if m.Role == result.RoleRouter && m.Engine.Capabilities().MeasureOverhead != nil {
			relays = append(relays, &relayed{member: m})
		}
	}
	return Watcher{
		Before: func(ctx context.Context) { each(relays, func(x *relayed) { x.begin(ctx) }) },
		After:  func(ctx context.Context, _ time.Duration) { each(relays, func(x *relayed) { x.end(ctx) }) },
		Tell: func(run *result.Run) {
			for _, x := range relays {
				for name, seconds := range x.added {
					tellServer(run, x.member.Name, name, seconds*w.scale)
				}
				if x.err != nil {
					r.warnUnreadableMetrics(x.member.label(s.Target), x.err, *run)
				}
			}
		},
	}
}

func (r *relayed) begin(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	r.finish, r.err = r.member.Engine.Capabilities().MeasureOverhead(ctx, r.member.endpoint)
}

func (r *relayed) end(ctx context.Context) {
	if r.finish == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	r.added, r.err = r.finish(ctx)
}
