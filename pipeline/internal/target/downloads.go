package target

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/hub"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// CheckDownloads warns of containers that download their model at every launch, and of containers that use a gated
// model without a token.
func CheckDownloads(p *plan.Plan) hcl.Diagnostics {
	var out problems
	if p.Simulated != "" {
		return nil
	}
	for _, s := range (Resolver{Plan: p}).plannedServers() {
		// Only a kind with default images is an engine that reads its model from the hub.
		if s.Spec.Image == "" || len(s.Spec.OwnImages) == 0 || !hub.Has(s.Spec.Model) {
			continue
		}
		if kept, _ := hub.Kept(s.Spec); kept == "" {
			out.add(hcl.DiagWarning, "each launch downloads the model again",
				fmt.Sprintf("no volume, mount or cache of the container keeps what it downloads of %s; "+
					"write container { volumes = { hf-cache = %q } }", s.Spec.Model, hub.ImageFolder), s.Range)
		}
		out.addGated(s)
	}
	return out.list
}

// CheckGated warns of processes of this machine that use a gated model without a token, unless folder, that of
// the hub's client, has the model or the token of a login. A plan does not depend on the machine, so it leaves this out.
func CheckGated(p *plan.Plan, folder string) hcl.Diagnostics {
	var out problems
	if p.Simulated != "" {
		return nil
	}
	for _, s := range (Resolver{Plan: p}).plannedServers() {
		if len(s.Spec.Executable) > 0 && hub.Has(s.Spec.Model) && !hub.LoggedIn(folder) && !hub.Downloaded(folder, s.Spec.Model) {
			out.addGated(s)
		}
	}
	return out.list
}

// addGated warns of a server that uses a gated model without a token.
func (out *problems) addGated(s *config.Server) {
	if hub.Gated(s.Spec.Model) && !hub.HasToken(s.Spec) {
		instead := "pass a token in env = { HF_TOKEN = var.hf_token }"
		for _, name := range hub.Tokens {
			if _, given := steps.Getenv(s.Spec.Env, name); given {
				instead = fmt.Sprintf("give %s in its env a value: it is empty; variable hf_token is set by PIPELINE_VAR_hf_token", name)
			}
		}
		out.add(hcl.DiagWarning, "a gated model without a token",
			fmt.Sprintf("the hub gives %s only to accounts that have accepted its licence; unless its weights are there already, %s",
				s.Spec.Model, instead), s.Range)
	}
}
