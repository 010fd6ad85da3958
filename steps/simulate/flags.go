package simulate

import (
	"cmp"
	"fmt"

	"github.com/servegate/pipeline/steps/engine/flags"
)

// flagTable holds the flags of one version of one engine.
type flagTable struct {
	quirks
	version string
	flags   map[string]flagDef // by every name
}

type flagDef struct {
	name string // the first name, with dashes
	// kind as the lists of steps/engine/flags say it.
	kind    string
	choices []string
}

// loadFlags takes the table of the newest known version that is not newer than version,
// or the oldest one.
func loadFlags(e engine, version string) (*flagTable, error) {
	known, ok := flags.Nearest(cmp.Or(e.quirks().lists, e.name()), version)
	if !ok {
		return nil, fmt.Errorf("the flags of engine %q are not known, so it cannot be simulated", e.name())
	}
	t := &flagTable{quirks: e.quirks(), version: known.Version, flags: make(map[string]flagDef)}
	for _, def := range t.extra {
		t.flags[def.name] = def
	}
	for name, def := range known.All {
		t.flags[name] = flagDef{name: def.Name, kind: string(def.Kind), choices: def.Choices}
	}
	return t, nil
}

// compareVersions compares dotted versions by their numbers.
func compareVersions(a, b string) int { return flags.Compare(a, b) }
