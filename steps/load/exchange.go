package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// client sends requests over pooled connections.
type client struct {
	pool  *pool
	clock *clock
}

// sink receives a response as it arrives.
type sink interface {
	// onRead is called for each read before its bytes: they arrived later than after and no later than at,
	// and were seen when the read returned.
	onRead(after, at, seen int64)
	// onHead is called once, when status line and headers are complete.
	onHead(resp *response, at int64)
	// body receives each piece of the body with the time of its read.
	body(b []byte, at int64) error
}

// exchange sends wire over cn and reads the response. It closes the connection or returns it to the pool. It
// sends the request again, once, over a new connection if the first breaks before the first byte of an
// answer, and if it breaks within again or the server had closed a used connection before it accepted the request.
// resent reports whether it did.
func (c *client) exchange(ctx context.Context, cn *conn, again time.Duration, wire []byte, deadline time.Time,
	out sink) (resp *response, resent bool, err error) {
	served, begin := cn.served, time.Now()
	resp, n, untaken, err := c.attempt(ctx, cn, wire, deadline, out)
	mayRepeat := time.Since(begin) < again || served && untaken
	if err == nil || !mayRepeat || n > 0 || !closedByPeer(err) || ctx.Err() != nil {
		return resp, false, err
	}
	if cn, err = c.pool.dial(ctx); err != nil {
		return resp, true, err
	}
	resp, _, _, err = c.attempt(ctx, cn, wire, deadline, out)
	return resp, true, err
}

func closedByPeer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// attempt sends the request over one connection. n is the number of bytes read, and untaken reports whether
// the server had closed the connection before the request reached it.
func (c *client) attempt(ctx context.Context, cn *conn, wire []byte, deadline time.Time,
	out sink) (resp *response, n int64, untaken bool, err error) {
	t := &transfer{clock: c.clock, out: out, after: c.clock.now()}
	t.piece = func(b []byte) error { return t.out.body(b, t.at) }
	sent, err := cn.Exchange(ctx, deadline, wire, t.take)
	switch {
	case t.err != nil:
		err = t.err
	case err != nil:
		err = endOf(&t.resp, err, sent)
	}
	if err == nil && ctx.Err() == nil && t.resp.state == complete && !t.resp.close {
		cn.served, cn.streamed = true, t.resp.chunked
		c.pool.put(cn)
		return &t.resp, t.read, false, nil
	}
	if err == nil && ctx.Err() == nil {
		c.pool.ended()
	}
	untaken = err != nil && t.read == 0 && cn.Untaken()
	_ = cn.Close()
	return &t.resp, t.read, untaken, err
}

// transfer is a response on its way from a connection to its sink.
type transfer struct {
	clock *clock
	out   sink
	resp  response
	piece func([]byte) error // of the body

	read  int64 // bytes
	after int64 // the next bytes arrive later than this
	at    int64 // arrival of the current read
	err   error // of the protocol
}

// take consumes one read and reports whether more is expected.
func (t *transfer) take(b []byte, stamp int64, drained bool) bool {
	at, seen := t.clock.arrival(stamp)
	t.at = max(at, t.resp.last)
	t.resp.last = t.at
	t.read += int64(len(b))
	t.out.onRead(t.after, t.at, seen)
	t.after = t.at
	if drained { // the buffer was emptied, so the next bytes arrive after this
		t.after = seen
	}
	t.err = t.feed(b)
	return t.err == nil && t.resp.state != complete
}

// feed passes one read to the response. The head is announced before the body that arrived with it.
func (t *transfer) feed(b []byte) error {
	if t.resp.headDone() {
		return t.resp.feed(b, t.piece)
	}
	announced := false
	err := t.resp.feed(b, func(piece []byte) error {
		if !announced {
			announced = true
			t.out.onHead(&t.resp, t.at)
		}
		return t.piece(piece)
	})
	if !announced && t.resp.headDone() {
		t.out.onHead(&t.resp, t.at)
	}
	return err
}

// endOf converts the end of a connection to the outcome of its response.
func endOf(resp *response, err, werr error) error {
	if errors.Is(err, io.EOF) {
		if resp.headDone() && resp.ended() {
			return nil
		}
		err = io.ErrUnexpectedEOF
	}
	if werr != nil && !resp.headDone() {
		return fmt.Errorf("send: %w", werr)
	}
	return err
}

// page collects a small, complete answer.
type page struct{ b []byte }

const maxPage = 64 << 20

func (*page) onHead(*response, int64) {}
func (*page) onRead(_, _, _ int64)    {}

func (p *page) body(b []byte, _ int64) error {
	if len(p.b)+len(b) > maxPage {
		return fmt.Errorf("an answer of more than %d bytes", maxPage)
	}
	p.b = append(p.b, b...)
	return nil
}

// fetch sends one request outside a run and returns its complete answer.
func (c *client) fetch(ctx context.Context, wire []byte, timeout time.Duration) (status int, body []byte, err error) {
	cn, reused, err := c.pool.take(ctx)
	if err != nil {
		return 0, nil, err
	}
	var p page
	again := time.Duration(0)
	if reused {
		again = timeout // it does not change the server's state
	}
	resp, _, err := c.exchange(ctx, cn, again, wire, time.Now().Add(timeout), &p)
	if err == nil {
		return resp.status, p.b, nil
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", timeout, err)
	}
	return resp.status, p.b, err
}
