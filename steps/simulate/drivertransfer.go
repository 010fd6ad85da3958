package simulate

import (
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/transfer"
)

// startFetches begins the transfers that the engine made room for at the given time.
func (d *driver) startFetches(at time.Duration, ids []int) {
	for _, id := range ids {
		d.kv.Go(func() { d.fetch(at, id) })
	}
}

// fetch gets the KV of one request and passes it to the engine. If it does not arrive, the
// connector's policy applies: the request fails, or its prompt is computed here.
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

// arrived passes the KV that arrived at the given time to the engine. A step that has begun since
// does not use it. The caller holds the lock.
func (d *driver) arrived(at time.Duration, id, tokens int) {
	if at < d.begun {
		d.late.Miss(d.clock.Now() - at - d.patience)
	}
	d.engine.Arrived(at, id, tokens)
	d.signal()
}

// completed is a request whose last token was just generated and whose KV goes elsewhere.
type completed struct {
	id int
	st *stream
	ev model.Event
}

// handOver publishes the KV of requests that were complete at the given time, before their clients
// get the answer.
func (d *driver) handOver(at time.Duration, list []completed) {
	for _, c := range list {
		x := c.st.exchange
		key := x.Key
		if x.ByBlocks {
			key = transfer.BlockKey(c.ev.Blocks)
		}
		if x.Hold {
			d.kv.Offer(at, key, c.st.input, c.id)
		}
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

// loadFailed logs a failed transfer in the words of the engine or its connector.
func (g *logger) loadFailed(k *transfer.Side, request int, err error) {
	m := g.l.engine.loadFailed(k.Part())
	g.core("ERROR", m.Source, m.Format, request, err)
}
