package load

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/servegate/pipeline/steps/load/internal/stamp"
)

// readBuffer is the size of one read, in bytes. An event has a few hundred bytes; a larger buffer would only
// cost memory with thousands of streams.
const readBuffer = 16 << 10

// longAgo is a deadline that ends reads and writes at once.
var longAgo = time.Unix(1, 0)

// plain is a line that waits in the runtime's poller and has no kernel stamps: under TLS, and on systems
// without stamps.
type plain struct {
	net.Conn
	raw   net.Conn // under TLS, for the liveness check
	quiet bool     // unread bytes make it unusable while it is idle
	buf   []byte
}

func (p *plain) Alive() bool { return alive(p.raw, p.quiet) }

func (p *plain) Untaken() (untaken bool) {
	if sc, ok := p.raw.(syscall.Conn); ok {
		if rc, err := sc.SyscallConn(); err == nil {
			_ = rc.Control(func(fd uintptr) { untaken = stamp.Untaken(int(fd)) }) // false if it fails
		}
	}
	return untaken
}

func (p *plain) Exchange(ctx context.Context, deadline time.Time, request []byte, take stamp.Sink) (sent, err error) {
	_ = p.SetDeadline(deadline) // an error shows at the next read or write
	stop := context.AfterFunc(ctx, func() { _ = p.SetDeadline(longAgo) })
	defer stop()
	if _, sent = p.Write(request); errors.Is(sent, os.ErrDeadlineExceeded) {
		return sent, sent
	}
	if p.buf == nil {
		p.buf = make([]byte, readBuffer)
	}
	for {
		n, err := p.Read(p.buf)
		if n > 0 && !take(p.buf[:n], 0, n < len(p.buf)) {
			return sent, nil
		}
		if err != nil {
			return sent, err
		}
	}
}
