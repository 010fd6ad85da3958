package kv

import (
	"cmp"
	"fmt"
	"net"

	"github.com/servegate/pipeline/steps"
)

// Port identifies a port need of a deployment: a process and a purpose.
type Port struct {
	Process string
	Purpose string
}

// String returns the symbol that plans print for a port not chosen yet.
func (p Port) String() string { return "PORT(" + p.Process + "." + p.Purpose + ")" }

// The purposes of ports.
const (
	PortHTTP        = "http"         // requests; a service's main port
	PortInternal    = "internal"     // vLLM searches for free ports from here upwards
	PortSideChannel = "side_channel" // NIXL's handshakes
	PortBootstrap   = "bootstrap"    // Mooncake's and SGLang's handshakes
	PortKV          = "kv"           // the connector itself
	PortNCCL        = "nccl"         // rendezvous of one SGLang server
	PortPeer        = "peer"         // peers of an etcd cluster
	PortMetrics     = "metrics"      // metrics of a service or router
	PortMetadata    = "metadata"     // the metadata server in Mooncake's master
)

// PortNeed is one or more consecutive ports that a process listens on.
type PortNeed struct {
	Port
	// Count of consecutive ports, at least 1. All must be free.
	Count int
	// Spacing is how many ports, from the first on, no other process of the launch may get, because the process
	// may take them itself. At least Count.
	Spacing int
	// Fixed is the port that the file sets, 0 for any free port.
	Fixed int
}

// Assigned holds the ports and addresses that the processes of a deployment got.
type Assigned struct {
	// Ports holds the first port of each need.
	Ports map[Port]int
	// Hosts holds the address at which others reach a process; 127.0.0.1 if absent.
	Hosts map[string]string

	symbolic bool
}

// Symbolic returns the ports of a plan, for which Render writes PORT(decode.http) instead of a number. Ports
// that the file sets are numbers.
func (l *Layout) Symbolic() Assigned {
	in := Assigned{Ports: map[Port]int{}, symbolic: true}
	for _, n := range l.Ports() {
		if n.Fixed != 0 {
			in.Ports[n.Port] = n.Fixed
		}
	}
	return in
}

// at returns a port for rendering: a number once chosen, else its symbol.
func (in Assigned) at(process, purpose string) steps.Port {
	p := Port{process, purpose}
	if n := in.Ports[p]; n != 0 {
		return steps.PortNumber(n)
	}
	return steps.PortSymbol(p.String())
}

// value returns a port as an argument value: a number once chosen, else its symbol.
func value(p steps.Port) any {
	if n := p.Number(); n != 0 {
		return int64(n)
	}
	return p.String()
}

func (in Assigned) host(process string) string { return cmp.Or(in.Hosts[process], loopback) }

const loopback = "127.0.0.1"

// url returns the base URL of a port of a process.
func (in Assigned) url(process, purpose string) string {
	return "http://" + in.address(process, purpose)
}

// address returns host:port, with an IPv6 host in brackets.
func (in Assigned) address(process, purpose string) string {
	return net.JoinHostPort(in.host(process), in.at(process, purpose).String())
}

// complete checks that every need has a port, and that no two overlap on one host.
func (in Assigned) complete(needs []PortNeed) error {
	if in.symbolic {
		return nil
	}
	type span struct {
		need PortNeed
		host string
		at   int
	}
	var taken []span
	for _, n := range needs {
		s := span{n, in.host(n.Process), in.Ports[n.Port]}
		if s.at < 1 || s.at+n.Count-1 > 65535 {
			return fmt.Errorf("%s of %s has no port; take one for every need of the layout", n.Purpose, n.Process)
		}
		for _, t := range taken {
			if t.host == s.host && s.at < t.at+t.need.Count && t.at < s.at+n.Count {
				return fmt.Errorf("port %d is both %s of %s and %s of %s; set another port for one of them",
					max(s.at, t.at), t.need.Purpose, t.need.Process, n.Purpose, n.Process)
			}
		}
		taken = append(taken, s)
	}
	return nil
}
