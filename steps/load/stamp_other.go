//go:build !linux

package load

import (
	"errors"
	"net"
)

// stamped would read with the kernel's receive time stamps, which only Linux gives.
type stamped struct{}

func newStamped(net.Conn) *stamped { return nil }

func (*stamped) read([]byte) (int, int64, error) { return 0, 0, errors.ErrUnsupported }
