//go:build !linux

package lazy

import (
	"errors"
	"net"
	"syscall"
	"time"
)

// Poller waits for connections; there is none here.
type Poller struct{}

// New says that there is none.
func New(time.Duration) (*Poller, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Poller) Close() {}

// Adopt is never called.
func (*Poller) Adopt(net.Conn) (*Conn, error) { return nil, errors.ErrUnsupported }

// Conn is a connection of a Poller.
type Conn struct{ net.Conn }

// Relax does nothing.
func (*Conn) Relax(bool) error { return nil }

// Drained does nothing.
func (*Conn) Drained() {}

// SyscallConn has none.
func (*Conn) SyscallConn() (syscall.RawConn, error) { return nil, errors.ErrUnsupported }
