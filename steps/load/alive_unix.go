//go:build unix

package load

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// alive reports whether the peer has not closed an idle connection, by looking at the
// socket without taking anything from it. Where nothing may be waiting (quiet) bytes
// are a reason to drop it too; under TLS session tickets may be.
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
