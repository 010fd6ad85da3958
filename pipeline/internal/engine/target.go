package engine

import (
	"context"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// TargetSpec is a target that is ready to be launched: the processes that serve together.
// A single server is a target of one member.
type TargetSpec struct {
	// Members are all processes of the target: its servers, services and router.
	Members []Member
	// Order of the start: the names of the members that are started together, wave after
	// wave. The next wave is started when the one before it is ready.
	Order [][]string
	// Front is the name of the member that clients talk to.
	Front string
	// Ports that are taken before anything is rendered.
	Ports []kv.PortNeed
	// Render says how each member is started, by its name, with the first port of every
	// need. launch is the launch's id. An error is a fault of the file.
	Render func(launch string, ports map[kv.Port]int) (map[string]Process, error)
	// Canaries is how many requests are sent through the front before it counts as ready,
	// so that every prefill server has met every decode server; 0 for a single server.
	Canaries int
	// Canary sends one of them. n counts from 0 and changes the content.
	Canary func(ctx context.Context, front steps.Endpoint, n int) error
	// Caches that the members keep from launch to launch.
	Caches []Cache
	// Transfer is what is known beforehand of the evidence that KV cache moves between the
	// members; nil where none does.
	Transfer *kv.Evidence
}

// Member is a process of a target.
type Member struct {
	// Name is unique in the target.
	Name string
	// Role as in result.Member: "producer", "consumer", "both" or "server" of a server;
	// "service" or "router".
	Role  string
	Range result.Range
	// Spec of a server. Of a service or the router it says what applies to all: address in
	// the file, model, readiness, grace.
	Spec steps.ServerSpec
	// Engine knows how the member says that it is ready, and why it failed.
	Engine steps.Engine
	// Launcher is not used where Spec.URL names a server that already answers.
	Launcher steps.Launcher
}

// Process of a member.
type Process struct {
	steps.Process
	// ReadyURL is where readiness is asked, "" for the process's own address.
	ReadyURL string
}

// isServer reports whether a member is one of those that are measured.
func (m *Member) isServer() bool {
	return m.Role != result.RoleService && m.Role != result.RoleRouter && m.Role != result.RoleNode
}

// prepare returns what has to be done before a member starts, nil for nothing.
func (m *Member) prepare() func(context.Context, steps.Process) error {
	if m.Launcher == nil {
		return nil
	}
	return m.Launcher.Capabilities().Prepare
}

// member returns a member by its name; names of waves without one are faults of the code.
func (t *TargetSpec) member(name string) *Member {
	for i := range t.Members {
		if t.Members[i].Name == name {
			return &t.Members[i]
		}
	}
	return nil
}

// alone says that the target is a single server, which no report calls a member.
func (t *TargetSpec) alone() bool { return len(t.Members) == 1 }
