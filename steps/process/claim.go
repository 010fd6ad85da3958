package process

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
)

// claims show other runs of this program that ports are in use, from their choice until a
// server listens on them and beyond. Each is a socket in Linux's abstract namespace, one
// for each network namespace as the ports are: the kernel lets go of it however this
// program ends.
type claims []net.Listener

// claim takes count ports from the first on, or none where another run has one of them.
// What cannot be claimed for another reason, as where such sockets are forbidden, is given
// without.
func claim(first, count int) claims {
	held := claims{}
	if runtime.GOOS != "linux" {
		return held
	}
	for port := first; port < first+count; port++ {
		l, err := net.Listen("unix", fmt.Sprintf("@pipeline-port-%d", port))
		if errors.Is(err, syscall.EADDRINUSE) {
			held.release()
			return nil
		}
		if err == nil {
			held = append(held, l)
		}
	}
	return held
}

// release may be called again.
func (c *claims) release() {
	for _, l := range *c {
		_ = l.Close()
	}
	*c = nil
}
