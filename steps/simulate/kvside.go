package simulate

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
	"github.com/servegate/pipeline/steps/simulate/model"
)

// kvSide moves the KV of a running server: it listens for peers, holds what they will
// take, and asks for what is held elsewhere. The model decides how long a transfer takes;
// that it takes place at all is up to real connections.
type kvSide struct {
	plan     *kv.Part
	launch   *launch
	clock    Clock
	log      *logger
	counters *kvCounters
	engineID string
	// compat must be the same on both sides of a transfer.
	compat string
	store  *kvStore
	link   model.Link

	mu   sync.Mutex
	nics *model.NICQueue
	// booked is the latest time from which the NICs were asked for.
	booked time.Duration
	// steps that wait for transfers of the connectors before V1, and the other way round.
	steps stagedSteps
	// settled is how long after something began in the model all is known that began before.
	settled time.Duration
	late    *lateness
	// transfers that this side began, for the failure that ends one in the middle.
	transfers atomic.Int64

	// known addresses of peers, by what names them; peers are idle connections to them.
	known sync.Map
	peers peerPool

	ctx     context.Context
	cancel  context.CancelFunc
	closers []func()
	running sync.WaitGroup
	// address where peers connect, once it listens.
	address string
	// joined is closed when the first peer has shaken hands.
	joined chan struct{}
	once   sync.Once
	// release frees the blocks of a request; die ends the engine.
	release func(id int)
	die     func()
}

// errLoad means that the KV of a request did not arrive.
var errLoad = errors.New("the KV cache could not be loaded from the peer")

// errPeerDied ends an engine in the middle of a transfer, as it was told to.
var errPeerDied = errors.New("the simulated engine died in the middle of a transfer as it was told to (peer_dies)")

func newKVSide(l *launch, clock Clock, log *logger, id string) *kvSide {
	c, p := l.config, l.transfer()
	ctx, cancel := context.WithCancel(context.Background())
	k := &kvSide{plan: p, launch: l, clock: clock, log: log, engineID: id, store: newKVStore(), ctx: ctx, cancel: cancel, joined: make(chan struct{}),
		compat: fmt.Sprintf("%s/%s/%d/%g/%s", l.engine.name(), l.model, c.BlockSize, c.Shape.KVBytesPerToken, l.args.str("--kv-cache-dtype", "auto"))}
	k.link = linkOf(p, c.Profile.Net)
	p.NICs = k.link.NICs
	k.nics, k.counters = model.NewNICQueue(k.link), newKVCounters()
	k.steps.launch = c.Profile.Staging.Launch
	return k
}

// open listens and makes itself known. It is called once, before any request.
func (k *kvSide) open() error {
	p := k.plan
	if p.Listen != "" {
		ln, err := net.Listen("tcp", p.Listen)
		if err != nil {
			return fmt.Errorf("listen for KV transfers on %s: %w", p.Listen, err)
		}
		k.address = ln.Addr().String()
		k.closers = append(k.closers, func() { _ = ln.Close() })
		k.running.Go(func() { k.accept(ln) })
	}
	if p.Bootstrap != "" {
		ln, err := net.Listen("tcp", p.Bootstrap)
		if err != nil {
			k.close()
			return fmt.Errorf("listen for peers on %s: %w", p.Bootstrap, err)
		}
		server := &http.Server{Handler: k.bootstrapHandler(), ReadHeaderTimeout: time.Minute}
		k.closers = append(k.closers, func() { _ = server.Close() })
		k.running.Go(func() { _ = server.Serve(ln) }) // returns when it is closed
	}
	if p.Metadata != "" && p.Produces {
		if err := k.register(); err != nil {
			k.close()
			return err
		}
	}
	if p.Exchange != kv.ByFile && p.Exchange != kv.FromNothing {
		p.WriteStart(k.log)
	}
	return nil
}

func (k *kvSide) close() {
	k.cancel()
	for _, c := range k.closers {
		c()
	}
	k.peers.close()
	k.running.Wait()
}

// accept serves peers until the listener is closed.
func (k *kvSide) accept(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		k.running.Go(func() {
			stop := context.AfterFunc(k.ctx, func() { _ = conn.Close() })
			defer stop()
			defer func() { _ = conn.Close() }()
			k.serve(conn)
		})
	}
}

// serve answers one peer until it leaves or says something wrong.
func (k *kvSide) serve(conn net.Conn) {
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
		case "put":
			err = k.receive(conn, f)
		default:
			err = errFrame
		}
		if err != nil {
			return
		}
	}
}

// greet checks that a peer means this engine and has the same layout of KV.
func (k *kvSide) greet(f kvFrame) kvFrame {
	switch {
	case k.launch.fail.HandshakeFail || f.Compat != k.compat:
		return kvFrame{Op: "error", Error: "NIXL compatibility hash mismatch. Local and remote instances differ in model, dtype, block size, attention backend or vLLM version"}
	case f.Engine != "" && f.Engine != k.engineID:
		return kvFrame{Op: "error", Error: fmt.Sprintf("Remote NIXL agent engine ID mismatch. Expected %s, received %s", f.Engine, k.engineID)}
	}
	k.once.Do(func() { close(k.joined) })
	return kvFrame{Op: "ok", Engine: k.engineID}
}

// give sends the KV of a key: at once, or when it is there if the peer waits for it.
func (k *kvSide) give(conn net.Conn, f kvFrame) error {
	ctx, cancel := k.bounded(k.ctx)
	defer cancel()
	k.expire()
	asked, _ := parse(k.clock, f.At)
	e, ok := k.store.take(ctx, f.Key, f.Wait, false)
	if !ok {
		return writeFrame(conn, kvFrame{Op: "miss", Key: f.Key})
	}
	defer k.free(e)
	asked = max(asked, e.since)
	n := min(e.tokens, f.Tokens)
	if n == 0 {
		return writeFrame(conn, kvFrame{Op: "kv", Key: f.Key, At: format(k.clock, asked)})
	}
	t, err := k.book(asked, k.bytes(n))
	if err != nil {
		return err
	}
	answer := kvFrame{Op: "kv", Key: f.Key, Tokens: n, Payload: payloadOf(k.bytes(n)), From: format(k.clock, t.start), At: format(k.clock, t.end)}
	if err := writeFrame(conn, answer); err != nil {
		return err
	}
	return k.send(conn, n, t, k.plan.Play.Push || k.plan.Exchange == kv.LookupBuffer)
}

// book finds the time of a transfer that is asked for at the given one.
func (k *kvSide) book(at time.Duration, bytes float64) (span, error) {
	if k.plan.Exchange != kv.LookupBuffer {
		return span{at, k.reserve(at, bytes)}, nil
	}
	if err := k.clock.SleepUntil(k.ctx, at+k.settled); err != nil {
		return span{}, err
	}
	staging := k.launch.config.Profile.Staging.Time(bytes)
	t, missed := k.steps.transfer(at, func(start time.Duration) time.Duration { return k.reserve(start, bytes) + staging })
	if missed > 0 {
		k.late.miss(missed)
	}
	return t, nil
}

// reserve books this side's NICs from the given time on. One that was asked for before
// another, and is heard of after it, has come too late for its turn.
func (k *kvSide) reserve(at time.Duration, bytes float64) time.Duration {
	k.mu.Lock()
	late := at < k.booked
	k.booked = max(k.booked, at)
	end := k.nics.Reserve(at, bytes)
	k.mu.Unlock()
	if late {
		k.late.miss(k.clock.Now() - at)
	}
	return end
}

// send waits until the link has carried n tokens and then moves their share of bytes over
// the connection.
func (k *kvSide) send(conn net.Conn, n int, t span, counted bool) error {
	bytes := k.bytes(n)
	if err := k.late.early(k.clock, t).SleepUntil(k.ctx, t.end); err != nil {
		return err
	}
	if k.dies() {
		_ = writePayload(conn, payloadOf(bytes)/2)
		_ = conn.Close()
		k.die()
		return errPeerDied
	}
	err := writePayload(conn, payloadOf(bytes)-1)
	if err == nil && counted {
		// Before the last byte: who has all of it finds it counted.
		k.counters.moved(bytes, t.end-t.start)
	}
	if err == nil {
		err = writePayload(conn, 1)
	}
	if err != nil {
		k.counters.failedSend()
	}
	return err
}

// receive takes KV that a peer pushes.
func (k *kvSide) receive(conn net.Conn, f kvFrame) error {
	if err := writeFrame(conn, kvFrame{Op: "ready"}); err != nil {
		return err
	}
	if err := discard(conn, f.Payload); err != nil {
		return err
	}
	k.expire()
	since, _ := parse(k.clock, f.At)
	if old := k.store.put(f.Key, kvEntry{tokens: f.Tokens, since: since, request: -1}); old != nil {
		k.free(*old)
	}
	return writeFrame(conn, kvFrame{Op: "ok", Key: f.Key})
}

// offer holds the KV of a prompt that was complete at the given time until a peer takes it.
func (k *kvSide) offer(at time.Duration, key string, tokens, request int) {
	k.expire()
	if old := k.store.put(key, kvEntry{tokens: tokens, since: at, request: request}); old != nil {
		k.free(*old)
	}
}

// expire gives up KV that nobody has taken in time.
func (k *kvSide) expire() {
	if k.plan.Exchange == kv.LookupBuffer {
		return // a lookup buffer keeps what it has
	}
	for _, e := range k.store.expire(k.clock.Now() - k.plan.Timeout) {
		k.counters.expired()
		k.free(e)
	}
}

func (k *kvSide) free(e kvEntry) {
	if e.request >= 0 {
		k.release(e.request)
	}
}

// bytes of KV of n tokens; before V1 the hidden states travel with them.
func (k *kvSide) bytes(n int) float64 {
	shape := k.launch.config.Shape
	b := float64(n) * shape.KVBytesPerToken
	if k.plan.Exchange == kv.LookupBuffer {
		b += float64(n) * shape.HiddenBytes()
	}
	return b
}

// dies is true for the transfer that is to kill the server.
func (k *kvSide) dies() bool {
	n := k.launch.fail.PeerDies
	return n > 0 && k.transfers.Add(1) == int64(n)
}

// bounded limits ctx to the transfer's timeout, in model time.
func (k *kvSide) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	wall := time.Duration(float64(k.plan.Timeout) / k.launch.settings.timeScale())
	return context.WithTimeout(ctx, max(wall, time.Second))
}
