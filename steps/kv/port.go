package kv

import (
	"cmp"
	"fmt"
	"net"

	"github.com/servegate/pipeline/steps"
)

// Port names one port need of a deployment: a process and what it uses the port for.
type Port struct {
	Process string
	Purpose string
}

// String is the symbol under which plans print a port that is not chosen yet.
func (p Port) String() string { return "PORT(" + p.Process + "." + p.Purpose + ")" }

// The purposes of ports.
const (
	PortHTTP        = "http"         // requests; of a service, its main port
	PortInternal    = "internal"     // vLLM looks for free ports from here upwards
	PortSideChannel = "side_channel" // NIXL's handshakes
	PortBootstrap   = "bootstrap"    // Mooncake's and SGLang's handshakes
	PortKV          = "kv"           // what the connector itself listens on
	PortNCCL        = "nccl"         // SGLang's rendezvous of one server
	PortPeer        = "peer"         // etcd's own cluster
	PortMetrics     = "metrics"      // of a service
	PortMetadata    = "metadata"     // the metadata server in Mooncake's master
)

// PortNeed is one or more consecutive ports that a process listens on.
type PortNeed struct {
	Port
	// Count of consecutive ports, at least 1. All of them must be free.
	Count int
	// Spacing is how many ports from the first on nothing else of the launch may get,
	// because the process takes more of them by itself. At least Count.
	Spacing int
	// Fixed is the port that the file asks for, 0 for a free one.
	Fixed int
	// Default is the engine's own, for people to read.
	Default int
}

// Assigned says which ports and addresses the processes of a deployment got.
type Assigned struct {
	// Ports that were chosen: the first of each need.
	Ports map[Port]int
	// Hosts is the address at which others reach a process, 127.0.0.1 where it has none.
	Hosts map[string]string

	symbolic bool
}

// Symbolic stands for the ports of a plan: Render then writes PORT(decode.http) where a
// number would be. Ports that the file asks for are written as numbers.
func (l *Layout) Symbolic() Assigned {
	in := Assigned{Ports: map[Port]int{}, symbolic: true}
	for _, n := range l.Ports() {
		if n.Fixed != 0 {
			in.Ports[n.Port] = n.Fixed
		}
	}
	return in
}

// at is a port in a rendering: a number once it is chosen, its symbol before.
func (in Assigned) at(process, purpose string) steps.Port {
	p := Port{process, purpose}
	if n := in.Ports[p]; n != 0 {
		return steps.PortNumber(n)
	}
	return steps.PortSymbol(p.String())
}

// value is a port as an argument: a number where it has one.
func value(p steps.Port) any {
	if n := p.Number(); n != 0 {
		return int64(n)
	}
	return p.String()
}

func (in Assigned) host(process string) string { return cmp.Or(in.Hosts[process], loopback) }

const loopback = "127.0.0.1"

// url of a port of a process.
func (in Assigned) url(process, purpose string) string {
	return "http://" + in.address(process, purpose)
}

// address is host:port, the host in brackets if it is an IPv6 address.
func (in Assigned) address(process, purpose string) string {
	return net.JoinHostPort(in.host(process), in.at(process, purpose).String())
}

// complete checks that every need has a port and that no two overlap on one host.
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
