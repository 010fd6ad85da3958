package load

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/load/internal/stamp"
)

// Times of connections, in wall time.
const (
	dialTimeout = 10 * time.Second
	// maxIdle is the age at which an idle connection is not used again: uvicorn, which
	// serves vLLM and SGLang, closes them after 5 s.
	maxIdle = 4 * time.Second
)

// conn is one connection to the target. It serves one request at a time.
type conn struct {
	net.Conn
	raw    net.Conn      // under TLS, for the liveness check
	stamps *stamp.Reader // reads with the kernel's receive times; nil where there are none
	idle   time.Time
	served bool // it has answered a request before
}

// pool keeps idle connections, the last used first.
type pool struct {
	target target
	tls    *tls.Config

	mu    sync.Mutex
	idle  []*conn
	dials int
}

// take returns an idle connection that still seems alive, or a new one.
func (p *pool) take(ctx context.Context) (c *conn, reused bool, err error) {
	for {
		c := p.pop()
		if c == nil {
			break
		}
		if (c.served && time.Since(c.idle) > maxIdle) || !alive(c.raw, p.tls == nil) {
			_ = c.Close()
			continue
		}
		return c, true, nil
	}
	c, err = p.dial(ctx)
	return c, false, err
}

func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = p.idle[:n-1]
	return c
}

// put gives a connection back after a complete response.
func (p *pool) put(c *conn) {
	c.idle = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, c)
}

// dial opens a connection directly: proxies of the environment would be measured too.
// The net package sets TCP_NODELAY.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.target.addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	p.mu.Lock()
	p.dials++
	p.mu.Unlock()
	c := &conn{Conn: raw, raw: raw}
	if p.tls == nil { // the kernel sees no end of a message within TLS
		c.stamps = stamp.New(raw)
	} else {
		t := tls.Client(raw, p.tls)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("connect: TLS: %w", err)
		}
		c.Conn = t
	}
	return c, nil
}

// warm dials until n connections are idle. It stops at the first failure: the requests
// themselves will run into it and record it.
func (p *pool) warm(ctx context.Context, n int) {
	p.mu.Lock()
	n -= len(p.idle)
	p.mu.Unlock()
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	slots := make(chan struct{}, 32)
	for range n {
		slots <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			c, err := p.dial(ctx)
			if err != nil {
				cancel()
				return
			}
			p.put(c)
		})
	}
	wg.Wait()
}

// close closes the idle connections, of which there are no others any longer.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		_ = c.Close()
	}
	p.idle = nil
}
