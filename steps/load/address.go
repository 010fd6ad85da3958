package load

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// anotherAfter is the time after which the next address of a target is tried, in wall time.
const anotherAfter = 2 * time.Second

// addresses holds the addresses of a target, which are looked up once per run. A request may wait for its connection, so a lookup
// for each connection would add to latencies, and so would an address that does not answer. Connections use the addresses in turn,
// as they do if a name server shuffles them. The zero value is ready.
type addresses struct {
	lookup  func(ctx context.Context, host string) ([]string, error)    // nil for the system's
	connect func(ctx context.Context, address string) (net.Conn, error) // nil for TCP

	mu   sync.Mutex
	list []string // those that did not answer are last
	bad  int      // how many did not
	next int
}

// dial opens a connection to the first address that answers. An address that an earlier connection had to give up comes last.
func (a *addresses) dial(ctx context.Context, target string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	list, err := a.inTurn(ctx, host)
	if err != nil {
		return nil, err
	}
	var first error
	for i, address := range list {
		c, err := a.try(ctx, net.JoinHostPort(address, port), i == len(list)-1)
		if err == nil {
			a.demote(list[:i])
			return c, nil
		}
		first = cmp.Or(first, err)
	}
	a.forget()
	return nil, first
}

func (a *addresses) try(ctx context.Context, address string, last bool) (net.Conn, error) {
	if !last {
		limited, cancel := context.WithTimeout(ctx, anotherAfter)
		defer cancel()
		ctx = limited
	}
	if a.connect != nil {
		return a.connect(ctx, address)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", address)
}

// inTurn returns the addresses of a host in the order in which a connection tries them.
func (a *addresses) inTurn(ctx context.Context, host string) ([]string, error) {
	a.mu.Lock()
	list := a.list
	a.mu.Unlock()
	if list == nil {
		lookup := a.lookup
		if lookup == nil {
			lookup = net.DefaultResolver.LookupHost
		}
		found, err := lookup(ctx, host)
		if err != nil {
			return nil, err
		}
		list = found
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.list == nil {
		a.list, a.bad, a.next = list, 0, 0
	}
	n := a.alike()
	turn := a.next % n
	a.next++
	return slices.Concat(a.list[turn:n], a.list[:turn], a.list[n:]), nil
}

// alike returns the number of addresses at the beginning of the list that answer, and between which the system has no preference
// (RFC 6724): one family and scope, and one network of IPv6.
func (a *addresses) alike() int {
	n := 1
	for n < len(a.list)-a.bad && class(a.list[n]) == class(a.list[0]) {
		n++
	}
	return n
}

func class(address string) string {
	ip, err := netip.ParseAddr(address)
	switch {
	case err != nil, ip.IsLoopback(), ip.IsLinkLocalUnicast():
		return address
	case ip.Is4():
		return "IPv4"
	}
	network := ip.As16()
	return string(network[:8])
}

// demote moves addresses that did not answer to the end, in a list that others may be reading.
func (a *addresses) demote(silent []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, address := range silent {
		if i := slices.Index(a.list[:len(a.list)-a.bad], address); i >= 0 {
			a.list = append(slices.Delete(slices.Clone(a.list), i, i+1), address)
			a.bad++
		}
	}
}

// forget makes the next connection look the name up again, since no address answered.
func (a *addresses) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = nil
}
