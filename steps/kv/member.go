package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// arg returns an argument that the file sets.
func (m *Member) arg(names ...string) (any, bool) {
	for _, a := range m.Spec.Args {
		if a.Value != nil && (slices.Contains(names, argument.Canonical(a.Name)) || slices.Contains(names, m.fullName(a.Name))) {
			return a.Value, true
		}
	}
	return nil, false
}

// fullName expands an abbreviated argument name; the key of a document keeps its name.
func (m *Member) fullName(name string) string {
	if strings.Contains(name, ".") {
		return argument.Canonical(name)
	}
	return argument.FullName(m.Spec, name)
}

// env returns a variable that the file sets.
func (m *Member) env(name string) (string, bool) { return steps.Getenv(m.Spec.Env, name) }

// size returns the size of a parallelism, 1 unless set.
func (m *Member) size(names ...string) (int, error) {
	v, ok := m.arg(names...)
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(strings.TrimSpace(fmt.Sprint(v)))
	if err != nil || n < 1 || n > 4096 {
		return 0, fmt.Errorf("server %q: args.%s is %v; ports are planned from it, so it must be a whole number from 1", m.Name, names[0], v)
	}
	return n, nil
}

// Need returns a port need of the member. The port is fixed if the file sets it by a variable or an argument.
func (m *Member) Need(purpose string, count, spacing int, setBy string) (PortNeed, error) {
	n := PortNeed{Port: Port{m.Name, purpose}, Count: count, Spacing: max(spacing, count)}
	text, kind, ok := "", "env", false
	if setBy != "" && unicode.IsUpper(rune(setBy[0])) {
		text, ok = m.env(setBy)
	} else if v, found := m.arg(setBy); found && setBy != "" {
		text, kind, ok = fmt.Sprint(v), "args", true
	}
	if !ok {
		return n, nil
	}
	port, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || port < 1 || port > 65535-count+1 {
		return n, fmt.Errorf("server %q: %s.%s must be a port; leave it out and one is chosen", m.Name, kind, setBy)
	}
	n.Fixed = port
	return n, nil
}

// assignRoles sets each member's role in the transfer: from the member, else from the transfer, else from the
// router's use of it.
func (l *Layout) assignRoles() error {
	for _, m := range l.members {
		used := l.routerRole(m.Name)
		switch {
		case l.spec.Transfer == nil && m.Role != "" && m.Role != steps.RoleBoth:
			return fmt.Errorf("server %q has the role %s, but nothing moves KV caches; add a kv_transfer block or remove the role", m.Name, m.Role)
		case l.spec.Transfer == nil:
			continue
		case m.Role != "":
			m.role = m.Role
		case l.spec.Transfer.Role != "":
			m.role = l.spec.Transfer.Role
		default:
			m.role = used
		}
		if used != "" && m.role != "" && m.role != steps.RoleBoth && m.role != used {
			return fmt.Errorf("server %q is a %s, but the router uses it as a %s; correct the role or the router's lists", m.Name, m.role, used)
		}
	}
	return nil
}

// routerRole returns the role in which a router with prefill servers uses a member.
func (l *Layout) routerRole(name string) string {
	r := l.spec.Router
	if r == nil || len(r.Prefill) == 0 {
		return ""
	}
	prefill, decode := slices.Contains(r.Prefill, name), slices.Contains(r.Decode, name)
	switch {
	case prefill && decode:
		return steps.RoleBoth
	case prefill:
		return steps.RoleProducer
	case decode:
		return steps.RoleConsumer
	}
	return ""
}

// planPorts collects the ports of the members.
func (l *Layout) planPorts() error {
	for _, m := range l.members {
		if m.Spec.URL != "" {
			continue
		}
		plans := []func(*Member) ([]PortNeed, error){l.enginePorts}
		for _, p := range l.parts {
			if p.form != nil && p.form.Ports != nil {
				plans = append(plans, p.form.Ports)
			}
		}
		for _, plan := range plans {
			needs, err := plan(m)
			if err != nil {
				return err
			}
			m.ports = append(m.ports, needs...)
		}
	}
	return nil
}

// enginePorts returns the ports that a server needs with any connector.
func (l *Layout) enginePorts(m *Member) ([]PortNeed, error) {
	http := PortNeed{Port: Port{m.Name, PortHTTP}, Count: 1, Spacing: 1, Fixed: m.Spec.Port}
	if l.count(func(m *Member) bool { return m.Spec.URL == "" }) < 2 && l.spec.Transfer == nil {
		return []PortNeed{http}, nil
	}
	e := m.engine()
	if e.ports == nil {
		return []PortNeed{http}, nil
	}
	http.Spacing = e.httpSpacing
	more, err := e.ports(m)
	return append([]PortNeed{http}, more...), err
}

// one returns a list with a single need.
func one(n PortNeed, err error) ([]PortNeed, error) { return []PortNeed{n}, err }
