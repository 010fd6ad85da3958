package kv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// service is a service of the deployment with its kind.
type service struct {
	spec steps.ServiceSpec
	kind serviceKind
	// metadata means that Mooncake's master also serves metadata.
	metadata bool
}

// serviceKind holds what differs between the kinds of services.
type serviceKind struct {
	name    string
	image   string // "" means the members' image, which contains the program
	program []string
	metrics bool // its metrics have a port of their own
	dashes  bool
	scratch bool
	// listen is the flag of its address, if args omits it because older releases do not know it.
	listen string
	args   func(s *service, in Assigned) []steps.Arg
	// ready is the purpose of the port to check for readiness, readyPath the path there.
	ready, readyPath string
}

// serviceKinds covers etcd 3.5 and the programs in Mooncake's Python package 0.3.
var serviceKinds = []serviceKind{
	{name: "etcd", image: "quay.io/coreos/etcd:v3.5.21", program: []string{"etcd"}, dashes: true, scratch: true, args: etcdArgs,
		ready: PortHTTP, readyPath: "/health"},
	{name: "metadata", program: []string{"python3", "-m", "mooncake.http_metadata_server"}, dashes: true,
		args: metadataArgs, ready: PortHTTP},
	{name: "mooncake_master", program: []string{"mooncake_master"}, metrics: true, listen: "rpc_address", args: masterArgs,
		ready: PortMetrics, readyPath: "/health"},
}

func (l *Layout) addServices() error {
	for _, spec := range l.spec.Services {
		i := slices.IndexFunc(serviceKinds, func(k serviceKind) bool { return k.name == spec.Kind })
		if i < 0 {
			return fmt.Errorf("unknown service %q; use etcd, metadata or mooncake_master", spec.Kind)
		}
		l.services = append(l.services, &service{spec: spec, kind: serviceKinds[i]})
	}
	return nil
}

// service returns the first service of the kinds, in their order.
func (l *Layout) service(kinds ...string) *service {
	for _, kind := range kinds {
		for _, s := range l.services {
			if s.spec.Kind == kind {
				return s
			}
		}
	}
	return nil
}

func (s *service) ports() []PortNeed {
	need := func(purpose string, fixed int) PortNeed {
		return PortNeed{Port: Port{s.spec.Name, purpose}, Count: 1, Spacing: 1, Fixed: fixed}
	}
	needs := []PortNeed{need(PortHTTP, s.spec.Port)}
	if s.kind.name == "etcd" {
		needs = append(needs, need(PortPeer, 0))
	}
	if s.kind.metrics {
		needs = append(needs, need(PortMetrics, s.spec.MetricsPort))
	}
	if s.metadata {
		needs = append(needs, need(PortMetadata, 0))
	}
	return needs
}

func etcdArgs(s *service, in Assigned) []steps.Arg {
	client, peer := in.url(s.spec.Name, PortHTTP), in.url(s.spec.Name, PortPeer)
	return []steps.Arg{
		{Name: "name", Value: "pipeline"}, {Name: "data-dir", Value: "pipeline.etcd"},
		{Name: "listen-client-urls", Value: client}, {Name: "advertise-client-urls", Value: client},
		{Name: "listen-peer-urls", Value: peer}, {Name: "initial-advertise-peer-urls", Value: peer},
		{Name: "initial-cluster", Value: "pipeline=" + peer},
	}
}

func metadataArgs(s *service, in Assigned) []steps.Arg {
	return []steps.Arg{
		{Name: "host", Value: in.host(s.spec.Name)},
		{Name: "port", Value: in.at(s.spec.Name, PortHTTP).String()},
	}
}

func masterArgs(s *service, in Assigned) []steps.Arg {
	args := []steps.Arg{
		{Name: "port", Value: in.at(s.spec.Name, PortHTTP).String()},
		{Name: "metrics_port", Value: in.at(s.spec.Name, PortMetrics).String()},
	}
	if s.metadata {
		args = append(args,
			steps.Arg{Name: "enable_http_metadata_server", Value: true},
			steps.Arg{Name: "http_metadata_server_port", Value: in.at(s.spec.Name, PortMetadata).String()})
	}
	return args
}

func (s *service) render(l *Layout, in Assigned) Service {
	out := Service{
		Name: s.spec.Name, Kind: s.spec.Kind, Image: s.spec.Image, Program: s.spec.Executable, Env: s.spec.Env,
		Port:      in.Ports[Port{s.spec.Name, PortHTTP}],
		ReadyPort: Port{s.spec.Name, s.kind.ready}, ReadyPath: s.kind.readyPath, Scratch: s.kind.scratch, Listen: s.kind.listen,
	}
	if len(out.Program) == 0 {
		out.Program = s.kind.program
		if out.Image == "" {
			out.Image = l.serviceImage(s.kind)
		}
	}
	for _, a := range s.kind.args(s, in) {
		if !slices.ContainsFunc(s.spec.Args, func(own steps.Arg) bool { return argument.Canonical(own.Name) == argument.Canonical(a.Name) }) {
			out.Args = append(out.Args, s.words(a)...)
		}
	}
	for _, a := range s.spec.Args {
		out.Args = append(out.Args, s.words(a)...)
	}
	return out
}

// serviceImage returns the image of a service whose block names none. Services of members in containers run in
// containers.
func (l *Layout) serviceImage(k serviceKind) string {
	for _, m := range l.members {
		switch {
		case m.Spec.Image == "":
		case k.image != "":
			return k.image
		default:
			return m.Spec.Image
		}
	}
	return ""
}

// words formats an argument in the style of the service's program: Go's and Python's with dashes, Google's
// flags with underscores and --flag=true.
func (s *service) words(a steps.Arg) []string {
	name := "--" + strings.ReplaceAll(a.Name, "-", "_")
	if s.kind.dashes {
		name = "--" + strings.ReplaceAll(a.Name, "_", "-")
	}
	switch v := a.Value.(type) {
	case nil:
		return nil
	case bool:
		if s.kind.name == "metadata" {
			if v {
				return []string{name}
			}
			return nil
		}
		return []string{fmt.Sprintf("%s=%t", name, v)}
	case []any:
		words := make([]string, len(v))
		for i, e := range v {
			words[i] = text(e)
		}
		return []string{name, strings.Join(words, ",")}
	}
	return []string{name, text(a.Value)}
}
