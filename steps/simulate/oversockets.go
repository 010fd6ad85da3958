package simulate

import (
	"fmt"

	"github.com/servegate/pipeline/steps/kv"
)

// overSockets returns why a launch is not played by a process of its own, nil where it is. Virtual time
// plays all launches.
func (l *launch) overSockets() error {
	if err := OverSockets(l.engine.name(), l.version); err != nil || l.kv == nil {
		return err
	}
	return l.kv.OverSockets()
}

// OverSockets returns why the releases of an engine like version are not played by processes of their own, nil
// where they are.
func OverSockets(engine, version string) error {
	if engine == kv.VLLM && beforeV1(version) {
		return fmt.Errorf("servers of vLLM %s are simulated in virtual time alone: use --simulate=virtual. Over sockets, vLLM 0.8 or later is",
			version)
	}
	return nil
}
