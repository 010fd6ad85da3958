//go:build !linux

package stamp

import (
	"context"
	"errors"
	"net"
	"time"
)

// Loop is supported on Linux only.
type Loop struct{}

// NewLoop is not supported.
func NewLoop() (*Loop, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Loop) Close() {}

// Adopt is not supported.
func (*Loop) Adopt(net.Conn) (*Conn, error) { return nil, errors.ErrUnsupported }

// Sink takes the bytes of one receive.
type Sink func(b []byte, stamp int64, drained bool) (more bool)

// Conn is supported on Linux only.
type Conn struct{}

// Close does nothing.
func (*Conn) Close() error { return nil }

// Alive returns false.
func (*Conn) Alive() bool { return false }

// Untaken returns false.
func (*Conn) Untaken() bool { return false }

// Untaken returns false: only Linux reports it.
func Untaken(int) bool { return false }

// Exchange is not supported.
func (*Conn) Exchange(context.Context, time.Time, []byte, Sink) (sent, err error) {
	return nil, errors.ErrUnsupported
}
