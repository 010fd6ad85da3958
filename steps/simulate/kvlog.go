package simulate

import "github.com/servegate/pipeline/steps/simulate/transfer"

// loadFailed writes a failed transfer in the words of the engine or its connector.
func (g *logger) loadFailed(k *transfer.Side, request int, err error) {
	m := g.l.engine.loadFailed(k.Part())
	g.core("ERROR", m.Source, m.Format, request, err)
}
