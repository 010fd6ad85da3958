package simulate

import (
	"fmt"

	"github.com/servegate/pipeline/steps/kv"
)

// overSockets returns why a launch is not played by a process of its own, nil where it is. Virtual time
// plays all launches.
func (l *launch) overSockets() error {
	if l.engine.name() == kv.VLLM && beforeV1(l) {
		return fmt.Errorf("servers of vLLM %s are simulated in virtual time alone: use --simulate=virtual. Over sockets, vLLM 0.8 or later is",
			l.version)
	}
	if l.kv == nil {
		return nil
	}
	return l.kv.OverSockets()
}
