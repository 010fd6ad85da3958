package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
)

// engine is one data-parallel rank of a Mooncake prefill server.
type engine struct{ rank, id string }

// bootstrap holds the engines of a prefill server. They are queried once. An answer is valid for the life of
// the server; a failure is returned only to the callers that waited for it.
type bootstrap struct {
	mu    sync.Mutex
	query *query
	turn  atomic.Uint64
}

// query is a pending or answered query.
type query struct {
	done    chan struct{}
	engines []engine
	err     error
}

// engineOf returns the prefill server's next engine, in turn.
func (r *Router) engineOf(ctx context.Context, m *member) (engine, error) {
	engines, err := r.engines(ctx, m)
	if err != nil {
		if ctx.Err() != nil {
			return engine{}, exchangeError(ctx, m, ctx.Err(), classBootstrap)
		}
		return engine{}, &failure{class: classBootstrap, member: m, err: err}
	}
	return engines[(m.bootstrap.turn.Add(1)-1)%uint64(len(engines))], nil
}

// engines queries the bootstrap server of m, or waits for a pending query.
func (r *Router) engines(ctx context.Context, m *member) ([]engine, error) {
	b := &m.bootstrap
	b.mu.Lock()
	q, first := b.query, b.query == nil
	if first {
		q = &query{done: make(chan struct{})}
		b.query = q
	}
	b.mu.Unlock()
	if first {
		r.spawn(func() {
			if q.engines, q.err = r.queryBootstrap(m); q.err != nil {
				b.mu.Lock()
				b.query = nil
				b.mu.Unlock()
			}
			close(q.done)
		})
	}
	select {
	case <-q.done:
		return q.engines, q.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// queryBootstrap sends GET /query, whose answer has an entry for each rank: {"0": {"engine_id": "ID"}}.
func (r *Router) queryBootstrap(m *member) ([]engine, error) {
	ctx, cancel := context.WithTimeoutCause(r.life, r.timeouts.Probe, errTimeout)
	defer cancel()
	base, err := url.Parse(m.bootstrapURL())
	if err != nil {
		return nil, err
	}
	at := &member{base: base}
	var answer []byte
	resp, err := r.send(ctx, at, http.MethodGet, "/query", "", http.Header{}, nil)
	if err == nil {
		answer, err = readAll(resp)
	}
	if err != nil {
		return nil, fmt.Errorf("its bootstrap server does not answer, GET %s/query: %w", base, err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("its bootstrap server answers GET %s/query with %s", base, resp.Status)
	}
	engines, err := parseEngines(answer)
	if err != nil {
		return nil, fmt.Errorf("the answer to GET %s/query is not understood: %w", base, err)
	}
	return engines, nil
}

func parseEngines(answer []byte) ([]engine, error) {
	var byRank map[int]struct {
		ID string `json:"engine_id"`
	}
	if err := json.Unmarshal(answer, &byRank); err != nil {
		return nil, err
	}
	if len(byRank) == 0 {
		return nil, errors.New("no engine has registered")
	}
	var engines []engine
	for _, rank := range slices.Sorted(maps.Keys(byRank)) {
		if rank < 0 || byRank[rank].ID == "" {
			return nil, fmt.Errorf("rank %d has no engine_id", rank)
		}
		engines = append(engines, engine{rank: strconv.Itoa(rank), id: byRank[rank].ID})
	}
	return engines, nil
}
