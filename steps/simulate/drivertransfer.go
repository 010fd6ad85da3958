package simulate

import (
	"context"
	"time"

	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate/clock"
	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// startFetches begins the transfers that the engine made room for at the given time.
func (d *driver) startFetches(at time.Duration, ids []int) {
	for _, id := range ids {
		d.kv.Go(func() { d.fetch(at, id) })
	}
}

// fetch gets the KV of one request and hands it to the engine. What happens when it does
// not come is the connector's policy: the request fails, or its prompt is computed here.
func (d *driver) fetch(at time.Duration, id int) {
	d.mu.Lock()
	st, missing := d.streams[id], d.engine.Missing(id)
	d.mu.Unlock()
	if st == nil {
		return // its client is gone, and so is the request
	}
	got, at, err := d.kv.Fetch(at, *st.exchange.From, missing)
	if err != nil {
		at = d.clock.Now()
		d.log.loadFailed(d.kv, id, err)
	} else if d.kv.Part().Exchange == kv.ByFile && got > 0 {
		d.log.core("INFO", "example_connector.py:177", "Inject KV cache of %d tokens to the paged memory", got)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil && d.kv.Part().FailLoads {
		if d.streams[id] == st {
			st.failed = err
			delete(d.streams, id)
			d.engine.Abort(id)
			st.signal()
		}
		return
	}
	d.arrived(at, id, got)
}

// arrived hands the engine the KV that was there at the given time. A step that has begun
// since was put together without it. It needs the lock.
func (d *driver) arrived(at time.Duration, id, tokens int) {
	if at < d.begun {
		d.late.Miss(d.clock.Now() - at - d.patience)
	}
	d.engine.Arrived(at, id, tokens)
	d.signal()
}

// fetchWithin gets the KV of all requests of a step, one after the other, while the
// engine waits: drop_select of the connectors before V1. An error there ends the engine.
func (d *driver) fetchWithin(ctx context.Context, step model.Step) (model.Step, error) {
	tokens := make(map[int]int, len(step.Fetches))
	at := step.Start
	for _, id := range step.Fetches {
		d.mu.Lock()
		st, missing := d.streams[id], d.engine.Missing(id)
		d.mu.Unlock()
		if st == nil {
			continue
		}
		got, end, err := d.kv.Fetch(at, *st.exchange.From, missing)
		if ctx.Err() != nil {
			return step, context.Cause(ctx)
		}
		if err != nil {
			d.log.core("ERROR", "kv_transfer_agent.py:74", "%v", err)
			return step, errEngineDead
		}
		tokens[id], at = got, end
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	after := d.engine.Fetched(step.Shift(at), tokens)
	d.kv.Received(after.PrefillTokens == step.PrefillTokens, "simple_connector.py:301")
	return after, nil
}

// pass lets a step's time go by. With the connectors before V1, a decode step fetches KV,
// and a prefill step stands while transfers go on and ends when the buffer has room.
func (d *driver) pass(ctx context.Context, step model.Step) (_ model.Step, err error) {
	begun := step.Start
	if d.kv == nil || d.kv.Part().Exchange != kv.LookupBuffer {
		return step, d.late.Early(d.clock, clock.Span{Start: begun, End: step.End}).SleepUntil(ctx, step.End)
	}
	if len(step.Fetches) > 0 {
		if step, err = d.fetchWithin(ctx, step); err != nil {
			return step, err
		}
	}
	if step, err = d.kv.RunStep(ctx, d.late.Early(d.clock, clock.Span{Start: begun, End: step.End}), step); err != nil {
		return step, err
	}
	if len(step.Prompts) > 0 && d.kv.WaitRoom(ctx) {
		step.End = max(step.End, d.clock.Now())
	}
	return step, context.Cause(ctx)
}

// completed is a request whose last token was just made and whose KV goes elsewhere.
type completed struct {
	id int
	st *stream
	ev model.Event
}

// handOver makes the KV of requests that were complete at the given time known before
// their clients learn of them.
func (d *driver) handOver(at time.Duration, list []completed) {
	for _, c := range list {
		x := c.st.exchange
		key := x.Key
		if x.ByBlocks {
			key = transfer.BlockKey(c.ev.Blocks)
		}
		switch {
		case x.Save:
			d.background(c, func() (time.Duration, error) { return d.kv.Save(at, key, c.st.input) })
		case x.PushTo != "":
			d.background(c, func() (time.Duration, error) { return d.kv.Put(at, x.PushTo, key, c.st.input) })
		case x.Hold:
			d.kv.Offer(at, key, c.st.input, c.id)
		case key != "":
			d.kv.Offer(at, key, c.st.input, -1)
		}
	}
}

// background writes KV somewhere; clients of connectors that wait for it wait for stored.
func (d *driver) background(c completed, write func() (time.Duration, error)) {
	c.st.stored = make(chan struct{})
	d.kv.Go(func() {
		defer close(c.st.stored)
		at, err := write()
		if err != nil && !d.kv.Closing() {
			d.log.core("ERROR", "kv_connector.py:140", "KV transfer of request %d failed: %v", c.id, err)
		}
		c.st.storedAt = at
	})
}

// waitStored waits for the KV of a complete request where its connector does, and returns
// when it was stored, 0 where nothing is waited for.
func (st *stream) waitStored(ctx context.Context) time.Duration {
	if st.stored == nil || !st.exchange.PushWait && !st.exchange.Save {
		return 0
	}
	select {
	case <-st.stored:
		return st.storedAt
	case <-ctx.Done():
		return 0
	}
}

func (st *stream) signal() {
	select {
	case st.ready <- struct{}{}:
	default:
	}
}

func (d *driver) signal() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// release frees the blocks of a request that was held for a peer.
func (d *driver) release(id int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.engine.Release(id) {
		d.signal()
	}
}

// die ends the engine, once.
func (d *driver) die() { d.dying.Do(func() { close(d.crash) }) }

// loadFailed writes a failed transfer in the words of the engine or its connector.
func (g *logger) loadFailed(k *transfer.Side, request int, err error) {
	m := g.l.engine.loadFailed(k.Part())
	g.core("ERROR", m.Source, m.Format, request, err)
}
