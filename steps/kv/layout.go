package kv

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/steps"
)

// RouterName is the process name of a deployment's router.
const RouterName = "router"

// Layout is a deployment checked against its engines' capabilities. It knows the processes, their start order,
// the ports they need and, once ports are assigned, how to start each.
type Layout struct {
	spec     steps.DeploymentSpec
	members  []*Member
	services []*service
	table    Table
	// connector and form of the transfer, nil without one.
	connector *Connector
	form      *Form
	parts     []part // connectors of the transfer: one, or the children of multi
}

// Member is a server of the deployment with its role in the transfer.
type Member struct {
	steps.Member
	role     string // in the transfer, "" without one
	rank     int    // among the members, producers first
	tensor   int    // tensor parallel size: GPUs that share each layer
	replicas int    // data parallel size
	ports    []PortNeed
}

// Produces reports whether the member prefills for other members.
func (m *Member) Produces() bool { return m.role == steps.RoleProducer || m.role == steps.RoleBoth }

// Consumes reports whether the member decodes prompts that another member prefilled.
func (m *Member) Consumes() bool { return m.role == steps.RoleConsumer || m.role == steps.RoleBoth }

// Ranks returns the member's number of ranks; a connector may listen for each.
func (m *Member) Ranks() int { return m.tensor * m.replicas }

// NewLayout checks a deployment. A nil table means all of [Connectors]. Errors name the member or block and, if
// an engine's version lacks a feature, the versions that have it.
func (t Table) NewLayout(spec steps.DeploymentSpec) (*Layout, error) {
	if t == nil {
		t = Connectors()
	}
	l := &Layout{table: t, spec: spec}
	for _, step := range []func() error{
		l.addMembers, l.addServices, l.checkNames, l.assignRoles, l.chooseForm,
		l.checkRouter, l.checkServices, l.checkMembers, l.planPorts,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("%s: %w", spec.Addr, err)
		}
	}
	return l, nil
}

// OverSockets returns why the simulator cannot play the transfer between processes, nil if it can. Among
// several connectors, the first that moves KV decides.
func (l *Layout) OverSockets() error {
	for _, p := range l.parts {
		switch {
		case p.form == nil || p.form.Play.Exchange == NoExchange:
		case p.form.Play.Exchange.overSockets():
			return nil
		default:
			return virtualOnly(p.form.class(p.spec))
		}
	}
	return nil
}

func (l *Layout) addMembers() error {
	if len(l.spec.Members) == 0 {
		return fmt.Errorf("the deployment has no server")
	}
	for _, m := range l.spec.Members {
		mem := &Member{Member: m}
		var err error
		if mem.tensor, err = mem.size("tensor_parallel_size", "tp_size", "tp"); err != nil {
			return err
		}
		if mem.replicas, err = mem.size("data_parallel_size", "dp_size", "dp"); err != nil {
			return err
		}
		l.members = append(l.members, mem)
	}
	return nil
}

func (l *Layout) checkNames() error {
	what := map[string]string{}
	claim := func(name, kind string) error {
		if other, dup := what[name]; dup {
			return fmt.Errorf("%s %q and %s %q share their name; rename one of them", other, name, kind, name)
		}
		what[name] = kind
		return nil
	}
	if l.spec.Router != nil {
		what[RouterName] = "the process"
	}
	for _, m := range l.members {
		if err := claim(m.Name, "server"); err != nil {
			return err
		}
	}
	for _, s := range l.services {
		if err := claim(s.spec.Name, "service"); err != nil {
			return err
		}
	}
	return nil
}

// Order lists the processes in waves. The processes of a wave start together; the next wave starts when they
// are ready. Members at an address are not started and are left out.
//
// Services start first. Members of one wave do not depend on each other, or connect while they start. LMCache's
// decode servers listen for the prefill servers and start before them. The router starts last, because it
// depends on its members.
func (l *Layout) Order() [][]string {
	var waves [][]string
	add := func(names []string) {
		if len(names) > 0 {
			waves = append(waves, names)
		}
	}
	var services []string
	for _, s := range l.services {
		services = append(services, s.spec.Name)
	}
	add(services)
	if l.any(func(f *Form) bool { return f.ConsumersFirst }) {
		add(l.started(func(m *Member) bool { return m.role == steps.RoleConsumer }))
		add(l.started(func(m *Member) bool { return m.role != steps.RoleConsumer }))
	} else {
		add(l.started(func(*Member) bool { return true }))
	}
	if l.spec.Router != nil {
		add([]string{RouterName})
	}
	return waves
}

// started lists the matching members that the pipeline starts.
func (l *Layout) started(fits func(*Member) bool) []string {
	var names []string
	for _, m := range l.members {
		if m.Spec.URL == "" && fits(m) {
			names = append(names, m.Name)
		}
	}
	return names
}

// Role returns a member's role in the transfer, "" without one.
func (l *Layout) Role(member string) string {
	if m := l.member(member); m != nil {
		return m.role
	}
	return ""
}

// Ports lists the ports that the processes need, in process order. A member at an address needs none.
func (l *Layout) Ports() []PortNeed {
	var needs []PortNeed
	for _, s := range l.services {
		needs = append(needs, s.ports()...)
	}
	for _, m := range l.members {
		needs = append(needs, m.ports...)
	}
	if r := l.spec.Router; r != nil {
		needs = append(needs, PortNeed{Port: Port{RouterName, PortHTTP}, Count: 1, Spacing: 1, Fixed: r.Port})
		if r.Uses("metrics_port") {
			needs = append(needs, PortNeed{Port: Port{RouterName, PortMetrics}, Count: 1, Spacing: 1})
		}
	}
	return needs
}

func (l *Layout) member(name string) *Member {
	i := slices.IndexFunc(l.members, func(m *Member) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return l.members[i]
}

func (l *Layout) count(fits func(*Member) bool) int {
	n := 0
	for _, m := range l.members {
		if fits(m) {
			n++
		}
	}
	return n
}
