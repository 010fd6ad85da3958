//go:build !linux

package stamp

import (
	"errors"
	"net"
)

// Reader is supported on Linux only.
type Reader struct{}

// New returns nil, because there are no stamps.
func New(net.Conn) *Reader { return nil }

// Read is not supported.
func (*Reader) Read([]byte) (int, int64, error) { return 0, 0, errors.ErrUnsupported }
