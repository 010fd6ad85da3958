package transfer

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
)

// Options configures a side.
type Options struct {
	Part   *kv.Part
	Config model.Config
	// EngineID names this launch to its peers; Compat must be the same on both sides of a transfer.
	EngineID, Compat string
	Clock            clock.Clock
	// TimeScale is how many times faster than real time the clock runs.
	TimeScale float64
	Log       kv.Log
	Late      *clock.Lateness
	// Recompute, HandshakeFail and PeerDies are injected failures.
	Recompute, HandshakeFail bool
	PeerDies                 int
	// Release frees the blocks of a request; Die ends the engine.
	Release func(id int)
	Die     func()
}

// Side moves the KV of a running server: it listens for peers, holds the KV that they will fetch,
// and requests KV from others. The model determines how long a transfer takes. Real connections
// determine whether it happens.
type Side struct {
	opt      Options
	plan     *kv.Part
	clock    clock.Clock
	log      kv.Log
	late     *clock.Lateness
	counters *counters
	store    *store
	link     model.Link

	mu   sync.Mutex
	nics *model.NICQueue
	// booked is the latest requested start time of the NICs.
	booked time.Duration
	// transfers counts those that this side began, for the failure in the middle of one.
	transfers atomic.Int64

	// known caches addresses of peers by name; peers holds idle connections to them.
	known sync.Map
	peers peerPool

	ctx     context.Context
	cancel  context.CancelFunc
	closers []func()
	running sync.WaitGroup
	// address where peers connect, once it listens.
	address string
}

// ErrLoad reports that the KV of a request did not arrive.
var ErrLoad = errors.New("the KV cache could not be loaded from the peer")

// errPeerDied ends an engine in the middle of a transfer, as planned.
var errPeerDied = errors.New("the simulated engine died in the middle of a transfer as planned (peer_dies)")

// Open lets peers connect and registers the side. Call it once, before any request.
func Open(opt Options) (*Side, error) {
	ctx, cancel := context.WithCancel(context.Background())
	k := &Side{
		opt: opt, plan: opt.Part, clock: opt.Clock, log: opt.Log, late: opt.Late, counters: newCounters(), store: newStore(),
		link: LinkOf(opt.Part, opt.Config.Profile.Net), ctx: ctx, cancel: cancel,
	}
	k.plan.NICs = k.link.NICs
	k.nics = model.NewNICQueue(k.link)
	return k, k.open()
}

// open listens and registers.
func (k *Side) open() error {
	p := k.plan
	if p.Listen != "" {
		ln, err := net.Listen("tcp", p.Listen)
		if err != nil {
			return fmt.Errorf("listen for KV transfers on %s: %w", p.Listen, err)
		}
		k.address = ln.Addr().String()
		k.closers = append(k.closers, func() { _ = ln.Close() })
		k.running.Go(func() { accept(k.ctx, &k.running, ln, k.serve) })
	}
	if p.Bootstrap != "" {
		ln, err := net.Listen("tcp", p.Bootstrap)
		if err != nil {
			k.Close()
			return fmt.Errorf("listen for peers on %s: %w", p.Bootstrap, err)
		}
		server := &http.Server{Handler: k.bootstrapHandler(), ReadHeaderTimeout: time.Minute}
		k.closers = append(k.closers, func() { _ = server.Close() })
		k.running.Go(func() { _ = server.Serve(ln) }) // returns when it is closed
	}
	p.WriteStart(k.log)
	return nil
}

// Close disconnects the peers.
func (k *Side) Close() {
	k.cancel()
	for _, c := range k.closers {
		c()
	}
	k.peers.close()
	k.running.Wait()
}

// accept serves peers, each in its own goroutine, until the listener is closed. Connections end
// with ctx.
func accept(ctx context.Context, running *sync.WaitGroup, ln net.Listener, serve func(net.Conn)) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		running.Go(func() {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer stop()
			defer func() { _ = conn.Close() }()
			serve(conn)
		})
	}
}

// serve answers one peer until it leaves or sends something invalid.
func (k *Side) serve(conn net.Conn) {
	for {
		f, err := readFrame(conn)
		if err != nil {
			return
		}
		switch f.Op {
		case "hello":
			err = writeFrame(conn, k.greet(f))
		case "get":
			err = k.give(conn, f)
		default:
			err = errFrame
		}
		if err != nil {
			return
		}
	}
}

// greet checks that a peer addresses this engine and has the same KV layout.
func (k *Side) greet(f frame) frame {
	switch {
	case k.opt.HandshakeFail || f.Compat != k.opt.Compat:
		return frame{Op: "error",
			Error: "NIXL compatibility hash mismatch. Local and remote instances differ in model, dtype, block size, attention backend or vLLM " +
				"version"}
	case f.Engine != "" && f.Engine != k.opt.EngineID:
		return frame{Op: "error", Error: fmt.Sprintf("Remote NIXL agent engine ID mismatch. Expected %s, received %s", f.Engine, k.opt.EngineID)}
	}
	return frame{Op: "ok", Engine: k.opt.EngineID}
}

// give sends the KV of a key: at once, or when it exists if the peer waits for it.
func (k *Side) give(conn net.Conn, f frame) error {
	ctx, cancel := k.bounded(k.ctx)
	defer cancel()
	k.expire()
	asked, _ := clock.Parse(k.clock, f.At)
	e, ok := k.store.take(ctx, f.Key, f.Wait)
	if !ok {
		return writeFrame(conn, frame{Op: "miss", Key: f.Key})
	}
	defer k.free(e)
	asked = max(asked, e.since)
	n := min(e.tokens, f.Tokens)
	if n == 0 {
		return writeFrame(conn, frame{Op: "kv", Key: f.Key, At: clock.Format(k.clock, asked)})
	}
	t := clock.Span{Start: asked, End: k.reserve(asked, k.bytes(n))}
	answer := frame{Op: "kv", Key: f.Key, Tokens: n, Payload: payloadOf(k.bytes(n)), From: clock.Format(k.clock, t.Start),
		At: clock.Format(k.clock, t.End)}
	if err := writeFrame(conn, answer); err != nil {
		return err
	}
	return k.send(conn, n, t, k.plan.Play.Push)
}

// reserve books this side's NICs from the given time on. A request that was made before another but
// arrives after it has missed its place in the order.
func (k *Side) reserve(at time.Duration, bytes float64) time.Duration {
	k.mu.Lock()
	late := at < k.booked
	k.booked = max(k.booked, at)
	end := k.nics.Reserve(at, bytes)
	k.mu.Unlock()
	if late {
		k.late.Miss(k.clock.Now() - at)
	}
	return end
}

// send waits until the link has carried n tokens and then sends their share of bytes over the
// connection.
func (k *Side) send(conn net.Conn, n int, t clock.Span, counted bool) error {
	bytes := k.bytes(n)
	if err := k.late.Early(k.clock, t).SleepUntil(k.ctx, t.End); err != nil {
		return err
	}
	if k.dies() {
		_ = writePayload(conn, payloadOf(bytes)/2)
		_ = conn.Close()
		k.opt.Die()
		return errPeerDied
	}
	err := writePayload(conn, payloadOf(bytes)-1)
	if err == nil && counted {
		// Before the last byte, so that a receiver of all bytes finds the transfer counted.
		k.counters.moved(bytes, t.End-t.Start)
	}
	if err == nil {
		err = writePayload(conn, 1)
	}
	if err != nil {
		k.counters.failedSend()
	}
	return err
}

// Offer holds the KV of a prompt that was complete at the given time until a peer fetches it.
func (k *Side) Offer(at time.Duration, key string, tokens, request int) {
	k.expire()
	if old := k.store.put(key, entry{tokens: tokens, since: at, request: request}); old != nil {
		k.free(*old)
	}
}

// expire drops KV that was not fetched in time.
func (k *Side) expire() {
	for _, e := range k.store.expire(k.clock.Now() - k.plan.Timeout) {
		k.counters.expired()
		k.free(e)
	}
}

func (k *Side) free(e entry) {
	k.opt.Release(e.request)
}

// bytes returns the bytes of KV of n tokens.
func (k *Side) bytes(n int) float64 { return float64(n) * k.opt.Config.Shape.KVBytesPerToken }

// dies reports whether this transfer kills the server.
func (k *Side) dies() bool {
	n := k.opt.PeerDies
	return n > 0 && k.transfers.Add(1) == int64(n)
}

// bounded limits ctx to the transfer's timeout, in model time.
func (k *Side) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	wall := time.Duration(float64(k.plan.Timeout) / k.opt.TimeScale)
	return context.WithTimeout(ctx, max(wall, time.Second))
}

// Part returns the part of this side.
func (k *Side) Part() *kv.Part { return k.plan }

// Go runs f concurrently; Close waits for it.
func (k *Side) Go(f func()) { k.running.Go(f) }
