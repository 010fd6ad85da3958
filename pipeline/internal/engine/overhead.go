package engine

import (
	"context"
	"time"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Relay is the engine of a member that passes on what others answer: a router. What it
// adds to their latencies is part of the measurement, so every run has it.
type Relay interface {
	// MeasureOverhead begins to measure what the relay adds. The function that it returns ends
	// that and returns it in seconds, by the names below; what did not occur is absent.
	MeasureOverhead(ctx context.Context, ep steps.Endpoint) (end func(context.Context) (map[string]float64, error), err error)
}

// relayed measures what a router adds during a run.
type relayed struct {
	member *member
	relay  Relay
	finish func(context.Context) (map[string]float64, error)
	added  map[string]float64
	err    error
}

// watchRelays measures what the routers of a target add to its latencies.
func (r *runner) watchRelays(_ context.Context, s *server, w *watch) Watcher {
	var relays []*relayed
	for _, m := range s.members {
		if relay, ok := m.Engine.(Relay); ok && m.Role == result.RoleRouter {
			relays = append(relays, &relayed{member: m, relay: relay})
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
	r.finish, r.err = r.relay.MeasureOverhead(ctx, r.member.endpoint)
}

func (r *relayed) end(ctx context.Context) {
	if r.finish == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, scrapeTimeout)
	defer cancel()
	r.added, r.err = r.finish(ctx)
}
