package target

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
)

// checkSleep reports measured servers that must sleep while others are measured, and cannot.
func checkSleep(out *problems, cfg *config.Config, engines map[string]steps.Engine) {
	if cfg.Settings.Resident != steps.ResidentSleep {
		return
	}
	seen := map[string]bool{}
	for _, b := range cfg.Benchmarks {
		for _, c := range b.Cells {
			s := cfg.ServerAt(c.Target)
			if s == nil || seen[c.Target] {
				continue // a deployment, which the plan refuses
			}
			seen[c.Target] = true
			if err := canSleep(s.Spec, engines[s.Kind.Name]); err != nil {
				out.add(hcl.DiagError, s.Addr+" cannot be put to sleep", err.Error(), s.Range)
			}
		}
	}
}

func canSleep(spec steps.ServerSpec, e steps.Engine) error {
	sleeper := e.Capabilities().Sleeper
	switch {
	case sleeper == nil:
		return fmt.Errorf("a server of kind %q does not give its memory back while it is loaded; write resident = %q where the machine has "+
			"room for all, or leave it out", spec.Engine, steps.ResidentLoaded)
	case spec.URL != "":
		return fmt.Errorf("it runs already, and whoever started it decides when it sleeps; write resident = %q, or leave it out",
			steps.ResidentLoaded)
	}
	return sleeper.CheckSleep(spec)
}
