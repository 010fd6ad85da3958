package engine

import (
	"context"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// TargetSpec is a target that is ready to be launched: the processes that serve together. A single server is a target
// of one member.
type TargetSpec struct {
	// Members holds all processes of the target: its servers, services and router.
	Members []Member
	// Order holds the names of the members that start together, wave by wave. A wave starts when the one before it is
	// ready.
	Order [][]string
	// Front is the name of the member that clients send requests to.
	Front string
	// Ports lists the ports that are reserved before rendering.
	Ports []kv.PortNeed
	// Render returns how each member is started, by name. ports holds the first port of every need, launch is the
	// launch's id. An error is a fault of the file.
	Render func(launch string, ports map[kv.Port]int) (map[string]Process, error)
	// Canaries is the number of requests that are sent through the front before it counts as ready, so that every pair
	// of a prefill and a decode server is used; 0 for a single server.
	Canaries int
	// Canary sends one of them. n counts from 0 and changes the content.
	Canary func(ctx context.Context, front steps.Endpoint, n int) error
	// Caches holds the caches that the members keep from launch to launch.
	Caches []Cache
	// Transfer holds the evidence of KV cache transfers between the members that is known beforehand; nil if there are
	// none.
	Transfer *kv.Evidence
}

// Member is a process of a target.
type Member struct {
	// Name is unique in the target.
	Name string
	// Role is the role in result.Member: "producer", "consumer", "both" or "server" for a server, "service" or
	// "router".
	Role  string
	Range result.Range
	// Spec is the spec of a server. For a service or the router it holds the common part: address in the file, model,
	// readiness, grace.
	Spec steps.ServerSpec
	// Engine checks whether the member is ready, and classifies its failures.
	Engine steps.Engine
	// Launcher is not used if Spec.URL names a server that already runs.
	Launcher steps.Launcher
}

// Process is a rendered process of a member.
type Process struct {
	steps.Process
	// ReadyURL is the address for readiness checks, "" for the process's own address.
	ReadyURL string
}

// isServer reports whether a member is measured.
func (m *Member) isServer() bool {
	return m.Role != result.RoleService && m.Role != result.RoleRouter && m.Role != result.RoleNode
}

// prepare returns the function to call before a member starts, nil for none.
func (m *Member) prepare() func(context.Context, steps.Process) error {
	if m.Launcher == nil {
		return nil
	}
	return m.Launcher.Capabilities().Prepare
}

// member returns the member with a name, nil if there is none, which is a bug.
func (t *TargetSpec) member(name string) *Member {
	for i := range t.Members {
		if t.Members[i].Name == name {
			return &t.Members[i]
		}
	}
	return nil
}

// alone reports whether the target is a single server, which reports do not list as a member.
func (t *TargetSpec) alone() bool { return len(t.Members) == 1 }
