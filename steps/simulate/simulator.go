package simulate

import "github.com/servegate/pipeline/steps/kv"

// Simulator plays servers. The zero value plays all engines and connectors that are known.
type Simulator struct {
	// Connectors that can be played; nil means all of [kv.Connectors].
	Connectors kv.Table
	// Machine by its number, from 0, that the servers run on.
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
