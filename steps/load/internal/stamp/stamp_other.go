//go:build !linux

package stamp

import (
	"errors"
	"net"
)

// Reader would read with the kernel's receive time stamps, which only Linux gives.
type Reader struct{}

// New returns nil: there are no stamps.
func New(net.Conn) *Reader { return nil }

// Read is not supported.
func (*Reader) Read([]byte) (int, int64, error) { return 0, 0, errors.ErrUnsupported }
