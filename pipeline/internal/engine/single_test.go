package engine_test

import (
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
)

// single is a target of one server.
func single(m engine.Member) engine.TargetSpec {
	t := engine.TargetSpec{Members: []engine.Member{m}, Order: [][]string{{m.Name}}, Front: m.Name}
	if m.Spec.URL != "" {
		return t
	}
	http := kv.Port{Process: m.Name, Purpose: kv.PortHTTP}
	t.Ports = []kv.PortNeed{{Port: http, Count: 1, Spacing: 300, Fixed: m.Spec.Port}}
	t.Render = func(_ string, ports map[kv.Port]int) (map[string]engine.Process, error) {
		spec := t.Members[0]
		p, err := spec.Engine.Render(spec.Spec, spec.Spec.ListenHost(), steps.PortNumber(ports[http]))
		return map[string]engine.Process{m.Name: {Process: p}}, err
	}
	return t
}
