package kv

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// Rendered describes how to start the processes of a deployment, beyond what the engines render for the
// members.
type Rendered struct {
	// Members by name. Members at an address have an empty entry.
	Members  map[string]Extra
	Services []Service
	// Router is nil if clients talk to the only member.
	Router *Router
}

// Extra holds what the transfer adds to a member. It excludes what the member sets itself.
type Extra struct {
	Args  []steps.Arg
	Env   []steps.EnvVar
	Files []steps.File
}

// Apply returns spec with the arguments and variables added. Files are added to the rendered [steps.Process].
func (e Extra) Apply(spec steps.ServerSpec) steps.ServerSpec {
	spec.Args = append(slices.Clip(spec.Args), e.Args...)
	spec.Env = append(slices.Clone(e.Env), spec.Env...)
	return spec
}

// Service is a process of the deployment other than members and router.
type Service struct {
	Name string
	// Kind is "etcd", "mooncake_master" or "metadata".
	Kind string
	// Image to run it in, "" for a process on the machine. Program holds the words before Args, in both cases.
	Image   string
	Program []string
	Args    []string
	Env     []steps.EnvVar
	// Listen is the flag that tells its simulated double the address to listen on, "" if Args do.
	Listen string
	// Port that it serves on, 0 while ports are symbolic.
	Port int
	// ReadyPort is the port to check for readiness, and ReadyPath a path that then returns 200; "" means that
	// accepting a connection is enough.
	ReadyPort Port
	ReadyPath string
	// Scratch means that it writes into its working directory. That must be an empty folder of the launch,
	// because it would trust files of an earlier launch.
	Scratch bool
}

// Router is what our router must know about the members.
type Router struct {
	Protocol string
	Host     string
	// Port to listen on, 0 while ports are symbolic.
	Port            int
	Prefill, Decode []Backend
	// NoParams means that prefill responses carry no transfer parameters.
	NoParams bool
}

// Backend is a member as the router sees it.
type Backend struct {
	Name string
	URL  string
	// Bootstrap is the host:port of a prefill server's bootstrap server, "" without one.
	Bootstrap string
	// KV is the host:port of the connector itself, "" if the protocol does not name it.
	KV string
}

// Render returns how to start each process with its assigned ports and addresses. It is deterministic.
func (l *Layout) Render(in Assigned) (*Rendered, error) {
	if err := in.complete(l.Ports()); err != nil {
		return nil, fmt.Errorf("%s: %w", l.spec.Addr, err)
	}
	out := &Rendered{Members: map[string]Extra{}}
	for _, m := range l.members {
		extra, err := l.extra(m, in)
		if err != nil {
			return nil, fmt.Errorf("%s: server %q: %w", l.spec.Addr, m.Name, err)
		}
		out.Members[m.Name] = extra
	}
	for _, s := range l.services {
		out.Services = append(out.Services, s.render(l, in))
	}
	out.Router = l.router(in)
	return out, nil
}

func (l *Layout) router(in Assigned) *Router {
	spec := l.spec.Router
	if spec == nil {
		return nil
	}
	r := &Router{
		Protocol: spec.Protocol, Host: in.host(RouterName), Port: in.Ports[Port{RouterName, PortHTTP}],
		NoParams: l.primary() != nil && l.primary().NoParams,
	}
	for _, name := range spec.Prefill {
		r.Prefill = append(r.Prefill, l.routed(name, in))
	}
	for _, name := range spec.Decode {
		r.Decode = append(r.Decode, l.routed(name, in))
	}
	return r
}

func (l *Layout) routed(name string, in Assigned) Backend {
	m := l.member(name)
	b := Backend{Name: name, URL: m.Spec.URL}
	if b.URL == "" {
		b.URL = in.url(name, PortHTTP)
	}
	if f := l.primary(); f != nil && slices.ContainsFunc(m.ports, func(n PortNeed) bool { return n.Purpose == f.Announce }) {
		switch f.Announce {
		case PortBootstrap:
			b.Bootstrap = in.address(name, PortBootstrap)
		case PortKV:
			b.KV = in.address(name, PortKV)
		}
	}
	return b
}
