package router

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Router is an [http.Handler] that serves the clients of a deployment. Close it when done.
type Router struct {
	protocol        protocol
	prefill, decode []*member
	turn            atomic.Uint64

	timeouts       Timeouts
	maxBody        int64
	maxBodies      int64
	held           atomic.Int64 // bytes of the bodies of requests in flight, and of prefill's answers to them
	allowRecompute bool
	simulated      bool
	random         func() uint64

	transport *http.Transport
	mux       *http.ServeMux
	stats     stats

	// life ends with Close. It bounds work that outlives the handler of its request.
	life       context.Context
	end        context.CancelFunc
	mu         sync.Mutex
	closed     bool
	background sync.WaitGroup
}

// New returns a router, or an error that lists all errors of c. It does not connect to servers.
func New(c Config) (*Router, error) {
	p, prefill, decode, err := c.check()
	if err != nil {
		return nil, err
	}
	r := &Router{
		protocol: p, prefill: prefill, decode: decode,
		timeouts: c.Timeouts.withDefaults(), maxBody: cmp.Or(c.MaxBody, defaultMaxBody),
		maxBodies: cmp.Or(c.MaxBodies, defaultMaxBodies), allowRecompute: c.AllowRecompute, simulated: c.Simulated,
		random: c.Random,
	}
	if r.random == nil {
		r.random = rand.Uint64
	}
	r.stats.start, r.stats.log = time.Now(), c.Log
	r.life, r.end = context.WithCancel(context.Background())
	r.transport = newTransport(r.timeouts)
	r.mux = r.routes()
	return r, nil
}

// Close cancels pending requests and waits until they have ended. A client that does not read delays it:
// close the HTTP server before the router, as [Router.Serve] does.
func (r *Router) Close() {
	r.end()
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.background.Wait()
	r.transport.CloseIdleConnections()
}

// enter registers a request that Close waits for; leave unregisters it.
func (r *Router) enter() (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return func() {}
	}
	r.background.Add(1)
	return r.background.Done
}

// spawn runs f in the background. After Close, when requests fail at once, f runs before spawn returns.
func (r *Router) spawn(f func()) {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.background.Go(f)
	}
	r.mu.Unlock()
	if closed {
		f()
	}
}

// ServeHTTP routes one request.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) { r.mux.ServeHTTP(w, req) }

// all lists the members, prefill first.
func (r *Router) all() []*member {
	return slices.Concat(r.prefill, r.decode)
}

// pair returns the servers of the next request.
func (r *Router) pair() (prefill, decode *member) {
	p, d := Turn(r.turn.Add(1)-1, len(r.prefill), len(r.decode))
	if p < 0 {
		return nil, r.decode[d]
	}
	return r.prefill[p], r.decode[d]
}

// Turn returns the indices of the servers for the k-th request, counted from 0; p is -1 if there are no
// prefill servers. Both lists are used in turn. After each common multiple of their lengths, decode is
// advanced by one, so that any P·D consecutive requests reach all pairs.
func Turn(k uint64, prefill, decode int) (p, d int) {
	n := uint64(decode)
	if prefill == 0 {
		return -1, int(k % n)
	}
	m := uint64(prefill)
	common := gcd(m, n)
	return int(k % m), int((k + k/(m*n/common)%common) % n)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// uuid returns a random UUID, version 4.
func (r *Router) uuid() string {
	a, b := r.random(), r.random()
	a = a&^0xf000 | 0x4000
	b = b&^(0xc<<60) | 0x8<<60
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", a>>32, a>>16&0xffff, a&0xffff, b>>48, b&0xffffffffffff)
}
