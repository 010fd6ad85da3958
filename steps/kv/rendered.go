package kv

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// Rendered is how the processes of a deployment are started, beyond what the engines
// render of the members themselves.
type Rendered struct {
	// Members by name. Members at an address have an empty entry.
	Members  map[string]Extra
	Services []Service
	// Router is nil where the only member is what clients talk to.
	Router *Router
}

// Extra is what a member gets beside its own block. What the member sets itself is not
// in it.
type Extra struct {
	Args  []steps.Arg
	Env   []steps.EnvVar
	Files []steps.File
}

// Apply returns the spec with the arguments and variables added. Files belong to the
// [steps.Process] that is rendered of it.
func (e Extra) Apply(spec steps.ServerSpec) steps.ServerSpec {
	spec.Args = append(slices.Clip(spec.Args), e.Args...)
	spec.Env = append(slices.Clone(e.Env), spec.Env...)
	return spec
}

// Service is a process beside the members.
type Service struct {
	Name string
	// Kind is "etcd", "mooncake_master" or "metadata".
	Kind string
	// Image to run it in, "" for a process of the machine. Program are the words before
	// Args, in the image as on the machine.
	Image   string
	Program []string
	Args    []string
	Env     []steps.EnvVar
	// Listen is the flag that tells its double the address to listen on, "" where Args do.
	Listen string
	// Port that it serves on, 0 while ports are symbolic.
	Port int
	// Ready is the port that says it can serve, and the path of it that answers 200; ""
	// means that accepting a connection is enough.
	ReadyPort Port
	ReadyPath string
	// Scratch means that it writes into its working directory, which must be an empty one
	// of the launch: what a former launch left would be believed.
	Scratch bool
}

// Router is what our router must know of the members.
type Router struct {
	Protocol string
	Host     string
	// Port to listen on, 0 while ports are symbolic.
	Port            int
	Prefill, Decode []Backend
	// NoParams means that prefill servers rightly answer without transfer parameters.
	NoParams bool
}

// Backend is a member as the router sees it.
type Backend struct {
	Name string
	URL  string
	// Bootstrap is the address (host:port) of a prefill server's bootstrap server, ""
	// without one.
	Bootstrap string
	// KV is the address (host:port) of the connector itself, "" where the protocol does
	// not name it.
	KV string
}

// Render says how each process is started with the ports and addresses it got. It is
// the same for the same input.
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
