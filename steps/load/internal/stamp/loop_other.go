//go:build !linux

package stamp

import (
	"context"
	"errors"
	"net"
	"time"
)

// Loop would read from many connections, by what only Linux gives.
type Loop struct{}

// NewLoop is not supported.
func NewLoop() (*Loop, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Loop) Close() {}

// Adopt is not supported.
func (*Loop) Adopt(net.Conn) (*Conn, error) { return nil, errors.ErrUnsupported }

// Sink takes what one receive brought.
type Sink func(b []byte, stamp int64, drained bool) (more bool)

// Conn would be a connection that a loop reads.
type Conn struct{}

// Close does nothing.
func (*Conn) Close() error { return nil }

// Alive reports false.
func (*Conn) Alive() bool { return false }

// Untaken reports false.
func (*Conn) Untaken() bool { return false }

// Untaken reports false: only Linux says it.
func Untaken(int) bool { return false }

// Exchange is not supported.
func (*Conn) Exchange(context.Context, time.Time, []byte, Sink) (sent, err error) {
	return nil, errors.ErrUnsupported
}
