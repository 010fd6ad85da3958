package simulate

import "github.com/servegate/pipeline/steps/kv"

// Simulator simulates servers. The zero value supports all known engines and connectors.
type Simulator struct {
	// Connectors that can be simulated; nil means all of [kv.Connectors].
	Connectors kv.Table
	// Machine is the number, from 0, of the machine of the servers.
	Machine int

	engines []engine // nil means all
}

func (p Simulator) connectors() kv.Table {
	if p.Connectors == nil {
		return kv.Connectors()
	}
	return p.Connectors
}

func (p Simulator) known() []engine {
	if p.engines == nil {
		return engines()
	}
	return p.engines
}
