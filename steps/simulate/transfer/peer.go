package transfer

import (
	"context"
	"fmt"
	"net"
	"sync"
)

// peerConn is a connection to a peer after the handshake.
type peerConn struct {
	net.Conn
	pool *peerPool
	name string
	// broken connections are not reused, because their next content is unknown.
	broken bool
	stop   func() bool
}

// release returns the connection to the pool, or closes it.
func (c *peerConn) release() {
	if !c.stop() || c.broken || !c.pool.put(c) {
		_ = c.Close()
	}
}

// peerPool keeps idle connections, as the engines do: a handshake for each request would cost more
// than in the engines.
type peerPool struct {
	mu     sync.Mutex
	idle   map[string][]*peerConn
	closed bool
}

// maxIdle is the largest number of idle connections to one peer.
const maxIdle = 16

func (p *peerPool) put(c *peerConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle[c.name]) >= maxIdle {
		return false
	}
	if p.idle == nil {
		p.idle = make(map[string][]*peerConn)
	}
	p.idle[c.name] = append(p.idle[c.name], c)
	return true
}

func (p *peerPool) get(name string) *peerConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[name]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	p.idle[name] = list[:len(list)-1]
	return c
}

func (p *peerPool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, list := range p.idle {
		for _, c := range list {
			_ = c.Close()
		}
	}
	p.idle = nil
}

// ask sends a frame to a peer and returns its answer, with the connection for the rest. It replaces
// an idle connection that the peer has closed.
func (k *Side) ask(ctx context.Context, address, engine string, f frame) (*peerConn, frame, error) {
	for c := k.peers.get(address + " " + engine); c != nil; c = k.peers.get(address + " " + engine) {
		c.watch(ctx)
		if answer, err := c.exchange(f); err == nil {
			return c, answer, nil
		}
		c.broken = true
		c.release()
	}
	c, err := k.dial(ctx, address, engine)
	if err != nil {
		return nil, frame{}, err
	}
	answer, err := c.exchange(f)
	if err != nil {
		c.broken = true
		c.release()
		return nil, frame{}, fmt.Errorf("%w: answer of %s: %w", ErrLoad, address, err)
	}
	return c, answer, nil
}

// watch closes the connection when ctx ends.
func (c *peerConn) watch(ctx context.Context) {
	c.stop = context.AfterFunc(ctx, func() { _ = c.Close() })
}

func (c *peerConn) exchange(f frame) (frame, error) {
	if err := writeFrame(c, f); err != nil {
		return frame{}, err
	}
	return readFrame(c)
}

// dial connects and shakes hands.
func (k *Side) dial(ctx context.Context, address, engine string) (*peerConn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: connect to %s: %w", ErrLoad, address, err)
	}
	c := &peerConn{Conn: conn, pool: &k.peers, name: address + " " + engine}
	c.watch(ctx)
	compat := k.opt.Compat
	if k.opt.HandshakeFail {
		compat += "/other"
	}
	answer, err := c.exchange(frame{Op: "hello", Engine: engine, Compat: compat})
	if err == nil && answer.Op != "ok" {
		err = fmt.Errorf("%s", answer.Error)
	}
	if err != nil {
		c.broken = true
		c.release()
		return nil, fmt.Errorf("%w: handshake with %s: %w", ErrLoad, address, err)
	}
	return c, nil
}
