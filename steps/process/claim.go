package process

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"syscall"
)

// claims marks ports as taken for other runs of this program, before a server listens on them. Each claim is a
// socket in Linux's abstract namespace, which is separate per network namespace, as ports are. The kernel
// releases it however this program ends.
type claims []net.Listener

// claim claims count ports starting at first, or returns nil if another run holds one of them. If such a socket
// fails for another reason, for example because it is forbidden, the port goes unclaimed.
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

// release closes the sockets. It may be called again.
func (c *claims) release() {
	for _, l := range *c {
		_ = l.Close()
	}
	*c = nil
}
