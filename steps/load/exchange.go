package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// readBuffer is the size of one read. An event is a few hundred bytes; a larger buffer
// would only cost memory with thousands of streams.
const readBuffer = 16 << 10

// longAgo as a deadline ends reads and writes at once.
var longAgo = time.Unix(1, 0)

// client sends requests over pooled connections.
type client struct {
	pool    *pool
	clock   *clock
	buffers sync.Pool
	redials int
	mu      sync.Mutex
}

func newClient(p *pool) *client {
	c := &client{pool: p}
	c.buffers.New = func() any { b := make([]byte, readBuffer); return &b }
	return c
}

// sink gets a response as it arrives.
type sink interface {
	// onRead is called for each read before its bytes: they arrived after one time and at
	// the other at the latest, and were seen when the read returned.
	onRead(after, at, seen int64)
	// onHead is called once, when status line and headers are complete.
	onHead(resp *response, at int64)
	// body gets each piece of the body with the time of its read.
	body(b []byte, at int64) error
}

// exchange sends wire over cn and reads the response. It closes the connection or
// gives it back. A connection that was idle may have been closed by the server
// meanwhile: if it breaks before the first byte of an answer the request is sent again,
// once, over a new one.
func (c *client) exchange(ctx context.Context, cn *conn, reused bool, wire []byte, deadline time.Time, out sink) (*response, error) {
	resp, n, err := c.attempt(ctx, cn, wire, deadline, out)
	if err == nil || !reused || n > 0 || !closedByPeer(err) || ctx.Err() != nil {
		return resp, err
	}
	if cn, err = c.pool.dial(ctx); err != nil {
		return resp, err
	}
	c.mu.Lock()
	c.redials++
	c.mu.Unlock()
	resp, _, err = c.attempt(ctx, cn, wire, deadline, out)
	return resp, err
}

func closedByPeer(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// attempt is one try over one connection; n is the number of bytes read.
func (c *client) attempt(ctx context.Context, cn *conn, wire []byte, deadline time.Time, out sink) (resp *response, n int64, err error) {
	_ = cn.SetDeadline(deadline) // an error shows at the next read or write
	stop := context.AfterFunc(ctx, func() { _ = cn.SetDeadline(longAgo) })
	resp = &response{}
	n, err = c.transfer(cn, wire, resp, out)
	if stop() && err == nil && resp.state == complete && !resp.close {
		cn.served = true
		c.pool.put(cn)
		return resp, n, nil
	}
	_ = cn.Close()
	return resp, n, err
}

// transfer writes the request and reads until the response is complete.
func (c *client) transfer(cn *conn, wire []byte, resp *response, out sink) (read int64, err error) {
	// A server may answer, say with 413, and close before it has read everything: what
	// it said is worth more than the broken write.
	_, werr := cn.Write(wire)
	if errors.Is(werr, os.ErrDeadlineExceeded) {
		return 0, werr
	}
	bp := c.buffers.Get().(*[]byte)
	defer c.buffers.Put(bp)
	after := c.clock.now()
	var at int64
	body := func(b []byte) error { return out.body(b, at) }
	for resp.state != complete {
		var n int
		var seen int64
		n, at, seen, err = c.clock.read(cn, *bp)
		read += int64(n)
		if n > 0 {
			at = max(at, resp.last)
			resp.last = at
			out.onRead(after, at, seen)
			after = at
			if n < len(*bp) { // nothing was left behind, so the next bytes come after this
				after = seen
			}
			if err := feed(resp, (*bp)[:n], body, out, at); err != nil {
				return read, err
			}
		}
		if err != nil {
			return read, endOf(resp, err, werr)
		}
	}
	return read, nil
}

// feed hands one read to the response. The head is announced before the body that came
// with it.
func feed(resp *response, b []byte, body func([]byte) error, out sink, at int64) error {
	if resp.headDone() {
		return resp.feed(b, body)
	}
	announced := false
	err := resp.feed(b, func(piece []byte) error {
		if !announced {
			announced = true
			out.onHead(resp, at)
		}
		return body(piece)
	})
	if !announced && resp.headDone() {
		out.onHead(resp, at)
	}
	return err
}

// endOf turns the end of a connection into the outcome of its response.
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

// page collects a whole, small answer.
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

// fetch sends one request outside a run and returns its whole answer.
func (c *client) fetch(ctx context.Context, wire []byte, timeout time.Duration) (status int, body []byte, err error) {
	cn, reused, err := c.pool.take(ctx)
	if err != nil {
		return 0, nil, err
	}
	var p page
	resp, err := c.exchange(ctx, cn, reused, wire, time.Now().Add(timeout), &p)
	if err == nil {
		return resp.status, p.b, nil
	}
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() && ctx.Err() == nil {
		err = fmt.Errorf("no answer within %v: %w", timeout, err)
	}
	return resp.status, p.b, err
}
