package simulate

import (
	"fmt"

	"github.com/servegate/pipeline/steps/kv"
)

// overSockets returns why a process cannot simulate a launch, nil if it can. Virtual time can
// simulate all launches.
func (l *launch) overSockets() error {
	if err := OverSockets(l.engine.name(), l.version); err != nil || l.kv == nil {
		return err
	}
	return l.kv.OverSockets()
}

// OverSockets returns why processes cannot simulate the releases of an engine like version, nil if
// they can.
func OverSockets(engine, version string) error {
	if engine == kv.VLLM && beforeV1(version) {
		return fmt.Errorf("servers of vLLM %s are simulated in virtual time alone: use --simulate=virtual. Over sockets, vLLM 0.8 or later is",
			version)
	}
	return nil
}
