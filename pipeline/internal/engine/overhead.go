package engine

import (
	"context"

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

// relays are the members of a target that pass on what others answer.
func (s *server) relays() []*relayed {
	var out []*relayed
	for _, m := range s.members {
		if relay, ok := m.Engine.(Relay); ok && m.Role == result.RoleRouter {
			out = append(out, &relayed{member: m, relay: relay})
		}
	}
	return out
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

// tellAdded adds what relays added to a run, in the run's own time.
func (r *runner) tellAdded(s *server, w *watch, run *result.Run) {
	for _, x := range w.relays {
		for name, seconds := range x.added {
			if run.Server == nil {
				run.Server = map[string]float64{}
			}
			run.Server[prefixed(x.member.Name, name)] = seconds * w.scale
		}
		if x.err != nil && run.Status != result.RunFailed && run.Status != result.RunCancelled {
			r.warnUnreadableMetrics(x.member.label(s.Target), x.err)
		}
	}
}
