package load

import (
	"context"
	"crypto/tls"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/servegate/pipeline/steps/load/internal/stamp"
)

// Times of connections, in wall time.
const (
	dialTimeout = 10 * time.Second
	// maxIdle is the age after which an idle connection is not used again: uvicorn, which serves vLLM and
	// SGLang, closes connections after 5 s.
	maxIdle = 4 * time.Second
	// minRest is the least idle time after which the server may have closed a connection: the shortest
	// keep-alive of a common server is gunicorn's, 2 s. Some servers, such as llama.cpp, close the connection
	// after each stream without announcing it. After minRest they have closed it, even on a machine with
	// twenty processes for each core.
	minRest = time.Second
)

// keeping is the observed behaviour of the server towards connections after a stream.
type keeping int

const (
	unknown keeping = iota
	keeps           // a connection was open after minRest
	closes          // a connection was closed earlier: none is used again
)

// conn is one connection to the target. It serves one request at a time.
type conn struct {
	line
	idle   time.Time
	served bool // it has answered a request before
	// streamed is true if its last answer was a stream. A server may close a connection after a stream
	// although it does not after other answers.
	streamed bool
}

// rested reports whether the server may have closed the connection because it was idle, just when a request
// was sent on it. A generation is not idempotent, so it is sent again only in this case, as RFC 9110 (9.2.2)
// requires. A recently used connection that closes without an answer may have accepted the request.
// [line.Untaken] asks the kernel whether it has.
func (c *conn) rested() bool { return time.Since(c.idle) >= minRest }

// patience returns the time within which a connection may break without a failure of the request on it: see [conn.rested].
// A connection that breaks later had brought the request to the server, which ended while it worked.
func (c *conn) patience(reused bool) time.Duration {
	if reused && c.rested() {
		return minRest
	}
	return 0
}

// line carries one exchange at a time.
type line interface {
	// Exchange writes a request and passes the response to take until take has enough, the connection ends
	// (io.EOF), ctx is done or the deadline is reached (os.ErrDeadlineExceeded). sent is the error of
	// writing: a server may answer, for example with 413, and close before it has read everything. Its answer
	// then takes precedence over the broken write.
	Exchange(ctx context.Context, deadline time.Time, request []byte, take stamp.Sink) (sent, err error)
	// Alive reports whether an idle line can be used again.
	Alive() bool
	// Untaken reports, for a line that has ended, whether the peer had closed it before the request reached
	// it. It is false if the system cannot tell.
	Untaken() bool
	Close() error
}

// pool holds idle connections, the last used first.
type pool struct {
	target    target
	tls       *tls.Config
	addresses addresses

	mu    sync.Mutex
	idle  []*conn
	dials int
	// closed counts the connections that the server closed after an answer.
	closed int
	shown  keeping
	loops  []*stamp.Loop // read the connections in turn, one for each processor
}

// take returns an idle connection that is still open, or a new one.
func (p *pool) take(ctx context.Context) (c *conn, reused bool, err error) {
	for {
		c := p.pop()
		if c == nil {
			break
		}
		if (c.served && time.Since(c.idle) > maxIdle) || !c.Alive() {
			_ = c.Close()
			continue
		}
		return c, true, nil
	}
	c, err = p.dial(ctx)
	return c, false, err
}

// pop returns the idle connection that was used last. Until the server has shown that it keeps connections
// open, connections on which it has sent a stream are not returned.
func (p *pool) pop() *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown == unknown {
		p.learn()
	}
	for i, c := range slices.Backward(p.idle) {
		if p.shown == unknown && c.streamed {
			continue
		}
		p.idle = slices.Delete(p.idle, i, i+1)
		return c
	}
	return nil
}

// learn checks the connection that has been idle longest since its stream.
func (p *pool) learn() {
	i := slices.IndexFunc(p.idle, func(c *conn) bool { return c.streamed })
	if i < 0 {
		return
	}
	c := p.idle[i]
	switch open, rested := c.Alive(), c.rested(); {
	case open && rested:
		p.shown = keeps
	case !open && !rested:
		p.shown = closes
		p.idle = slices.DeleteFunc(p.idle, func(c *conn) bool {
			if c.streamed { // the server may close it in a moment
				_ = c.Close()
				p.closed++
			}
			return c.streamed
		})
	case !open: // perhaps for its idle time
		p.idle = slices.Delete(p.idle, i, i+1)
		_ = c.Close()
	}
}

// put returns a connection to the pool after a complete response.
func (p *pool) put(c *conn) {
	c.idle = time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown == closes && c.streamed {
		_ = c.Close()
		p.closed++
		return
	}
	p.idle = append(p.idle, c)
}

// ended counts a connection that the server closed after an answer.
func (p *pool) ended() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed++
}

// dial opens a connection directly, because proxies of the environment would be measured too. The net package
// sets TCP_NODELAY.
func (p *pool) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	raw, err := p.addresses.dial(ctx, p.target.addr)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if p.tls != nil { // the kernel cannot see the end of a message within TLS
		t := tls.Client(raw, p.tls)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, fmt.Errorf("connect: TLS: %w", err)
		}
		p.count()
		return &conn{line: &plain{Conn: t, raw: raw}}, nil
	}
	loop := p.count()
	if loop == nil {
		return &conn{line: &plain{Conn: raw, raw: raw, quiet: true}}, nil
	}
	c, err := loop.Adopt(raw)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &conn{line: c}, nil
}

// count counts a connection and returns the loop that reads it, or nil if there is none.
func (p *pool) count() *stamp.Loop {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dials++
	if p.tls != nil {
		return nil
	}
	if n := runtime.GOMAXPROCS(0); len(p.loops) < n {
		l, err := stamp.NewLoop()
		if err != nil {
			return nil
		}
		p.loops = append(p.loops, l)
	}
	return p.loops[p.dials%len(p.loops)]
}

// warm dials until n connections are idle. It stops at the first failure, which the requests will also meet
// and record.
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

// close closes all connections, which are idle by then, and stops the loops that read them.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.idle {
		_ = c.Close()
	}
	for _, l := range p.loops {
		l.Close()
	}
	p.idle, p.loops = nil, nil
}
