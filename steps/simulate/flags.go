package simulate

import (
	"fmt"

	"github.com/servegate/pipeline/steps/engine/flags"
)

// The engines that can be simulated.
const (
	engineVLLM   = "vllm"
	engineSGLang = "sglang"
)

// flagTable holds the flags of one version of one engine.
type flagTable struct {
	engine, version string
	flags           map[string]flagDef // by every name
}

type flagDef struct {
	name string // the first name, with dashes
	// kind as the lists of steps/engine/flags say it.
	kind    string
	choices []string
}

// loadFlags takes the table of the newest known version that is not newer than version,
// or the oldest one.
func loadFlags(engine, version string) (*flagTable, error) {
	known, ok := flags.Nearest(engine, version)
	if !ok {
		return nil, fmt.Errorf("engine %q cannot be simulated; use vllm or sglang", engine)
	}
	t := &flagTable{engine: engine, version: known.Version, flags: make(map[string]flagDef)}
	for name, def := range known.All {
		t.flags[name] = flagDef{name: def.Name, kind: string(def.Kind), choices: def.Choices}
	}
	if _, known := t.flags[transferFlag]; engine == engineVLLM && !known {
		// The first connectors (PyNccl, Mooncake) were tried on builds of 0.6.4 that had this flag already.
		t.flags[transferFlag] = flagDef{name: transferFlag, kind: "json"}
	}
	return t, nil
}

// compareVersions compares dotted versions by their numbers.
func compareVersions(a, b string) int { return flags.Compare(a, b) }
