package simulate

import (
	"errors"
	"fmt"

	"github.com/servegate/pipeline/steps/simulate/model"
)

// size describes the known size of the model and its source.
func (l *launch) size() string {
	c := l.config
	m := c.Shape
	if !m.Sized() {
		why := "is not known"
		if c.Profile.Model.Params > 0 {
			why = fmt.Sprintf("is not modelled: the profile %q runs every model as if it were small", c.Profile.Name)
		}
		return fmt.Sprintf("the size of %s %s; a model of half a billion parameters is assumed", m.Name, why)
	}
	return fmt.Sprintf(
		"the size of %s is that of %s: %.3g billion active parameters, %.1f GB of weights, %.0f KB of KV cache for a token, on %d GPU(s)",
		m.Name, m.Source, m.Params/1e9, m.WeightBytes/1e9, m.KVBytesPerToken/1e3, c.GPUs)
}

// Inspection is what a simulation knows about a server before it starts.
type Inspection struct {
	// Size is a sentence on the model's size. Modelled reports whether it is the model's own,
	// Unknown whether it is unknown although the profile would model it.
	Size              string
	Modelled, Unknown bool
	// Virtual is why only virtual time can simulate the server; nil if a process can too.
	Virtual error
	// Refused is why the server would not start for lack of memory, in the words of its log; nil if
	// it would.
	Refused error
}

// Inspect reads a server's command line as [Simulator.StartVirtual] does. It returns what is known
// about the model's size and whether it fits. It ignores injected failures.
func (p Simulator) Inspect(argv []string, settings Settings) (Inspection, error) {
	settings.Fail = nil
	l, err := p.launch(argv, settings, func(string) string { return "" })
	if err != nil {
		return Inspection{}, err
	}
	out := Inspection{Size: l.size(), Modelled: l.config.Shape.Sized(), Virtual: l.overSockets()}
	out.Unknown = !out.Modelled && l.config.Profile.Model.Params == 0
	switch c := l.config; {
	case !c.WeightsFit():
		out.Refused = fmt.Errorf("its weights need %.1f GB and %d × %s have %.1f GB: CUDA out of memory while it loads",
			c.Shape.WeightBytes/1e9, c.GPUs, c.Profile.Device, float64(c.GPUs)*c.Profile.MemBytes/1e9)
	case c.KVBlocks == 0:
		out.Refused = fmt.Errorf("its weights (%.1f GB) leave no memory for the KV cache on %d × %s", c.Shape.WeightBytes/1e9,
			c.GPUs, c.Profile.Device)
	default:
		if err := c.Validate(); errors.Is(err, model.ErrKVTooSmall) {
			out.Refused = err
		}
	}
	return out, nil
}
