//go:build unix

package load

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// alive reports whether an idle connection is still open. It peeks at the socket without reading from it.
// With quiet, unread bytes also make a connection unusable; under TLS they may be session tickets.
func alive(c net.Conn, quiet bool) bool {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return true
	}
	rc, err := sc.SyscallConn()
	if err != nil {
		return false
	}
	ok = false
	err = rc.Read(func(fd uintptr) bool {
		var b [1]byte
		n, _, e := unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		ok = e == unix.EAGAIN || e == unix.EINTR || (e == nil && n > 0 && !quiet)
		return true
	})
	return err == nil && ok
}
