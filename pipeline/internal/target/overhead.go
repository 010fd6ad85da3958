package target

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	engines "github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/router"
)

// measureOverhead starts measuring the latency that our router adds, by the router's own measurements. These count from
// the router's start, so the values of a run are the difference between two readings.
func measureOverhead(ctx context.Context, ep steps.Endpoint) (func(context.Context) (map[string]float64, error), error) {
	before, err := routerStats(ctx, ep)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (map[string]float64, error) {
		after, err := routerStats(ctx, ep)
		if err != nil {
			return nil, err
		}
		out := map[string]float64{}
		for name, l := range map[string]router.Latency{
			result.AddedPerChunk:  after.Chunk.Since(before.Chunk),
			result.AddedToRequest: after.Dispatch.Since(before.Dispatch),
			result.AddedHandover:  after.Handover.Since(before.Handover),
		} {
			if l.Count > 0 {
				out[name+result.AddedP50], out[name+result.AddedP99] = l.P50, l.P99
			}
		}
		return out, nil
	}, nil
}

func routerStats(ctx context.Context, ep steps.Endpoint) (router.Stats, error) {
	const path = "/router/stats"
	a, err := engines.NewClient().Get(ctx, ep, path)
	if err != nil {
		return router.Stats{}, err
	}
	if !a.OK() {
		return router.Stats{}, a.Err("GET " + path)
	}
	var s router.Stats
	if err := json.Unmarshal(a.Body, &s); err != nil {
		return s, fmt.Errorf("GET %s: %w", path, err)
	}
	return s, nil
}
