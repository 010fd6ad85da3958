package process

import (
	"context"
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// errBound ends a listen after its socket was bound.
var errBound = errors.New("the port is free")

// Probe returns nil if a server could listen on address, which is host:port, syscall.EADDRINUSE if another one listens
// there, or why the address cannot be bound.
//
// It binds a socket and never listens on it: a process that this program forks meanwhile holds the socket, too, until it
// executes its program, and a socket that listened would keep the port from the server until then.
func Probe(address string) error {
	config := net.ListenConfig{Control: bind}
	l, err := config.Listen(context.Background(), "tcp", address)
	if err == nil {
		return l.Close()
	}
	if errors.Is(err, errBound) {
		return nil
	}
	return err
}

// bind binds the socket to an address, and returns errBound once it is.
func bind(network, address string, socket syscall.RawConn) error {
	addr, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		return err
	}
	var bound error
	err = socket.Control(func(fd uintptr) { bound = unix.Bind(int(fd), sockaddr(network, addr)) })
	switch {
	case err != nil:
		return err
	case bound != nil:
		return bound
	}
	return errBound
}

// sockaddr converts an address to what a socket of the network takes.
func sockaddr(network string, addr *net.TCPAddr) unix.Sockaddr {
	if network == "tcp4" {
		out := &unix.SockaddrInet4{Port: addr.Port}
		copy(out.Addr[:], addr.IP.To4())
		return out
	}
	out := &unix.SockaddrInet6{Port: addr.Port}
	if !addr.IP.IsUnspecified() { // a socket of both families, as package net makes it
		copy(out.Addr[:], addr.IP.To16())
	}
	if i, err := net.InterfaceByName(addr.Zone); err == nil {
		out.ZoneId = uint32(i.Index) //nolint:gosec // an index of the kernel
	}
	return out
}
