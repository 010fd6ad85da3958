package simulate

import (
	"strings"
)

// loadFailed writes a failed transfer in the words of the engine or its connector.
func (g *logger) loadFailed(k *kvSide, request int, err error) {
	m := g.l.engine.loadFailed(k.plan)
	g.core("ERROR", m.Source, m.Format, request, err)
}

// received is what simple_connector.py says of prompts before V1: all that there is about
// transfers, and only at debug level.
func (g *logger) received(k *kvSide, all bool, missedAt string) {
	switch {
	case !strings.EqualFold(k.plan.Env("VLLM_LOGGING_LEVEL"), "DEBUG"):
	case all:
		g.core("DEBUG", "simple_connector.py:309", "[rank0]: Successfully received all KVs and hidden states, skip model forwarding.")
	default:
		g.core("DEBUG", missedAt, "[rank0]: Failed to receive all KVs and hidden states, redo model forwarding.")
	}
}

func orElse(a, b string) string {
	if a == "" {
		return b
	}
	return a
}
