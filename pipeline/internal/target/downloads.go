package target

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// hubModel matches the name of a model on the Hugging Face hub: an organisation and a model.
var hubModel = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$`)

// gatedModels holds prefixes of the names of models that the hub gives only to accounts that have accepted a licence.
var gatedModels = []string{"meta-llama/", "google/gemma-"}

// hubCache is the folder to which an image that runs as root downloads models.
const hubCache = "/root/.cache/huggingface"

// CheckDownloads warns of containers that download their model at every launch, and of containers that use a gated
// model without a token.
func CheckDownloads(p *plan.Plan) hcl.Diagnostics {
	var out problems
	if p.Simulated != "" {
		return nil
	}
	for _, s := range (Resolver{Plan: p}).plannedServers() {
		// Only a kind with default images is an engine that reads its model from the hub.
		if s.Spec.Image == "" || len(s.Spec.OwnImages) == 0 || !hubModel.MatchString(s.Spec.Model) {
			continue
		}
		if !keepsDownloads(s.Spec) {
			out.add(hcl.DiagWarning, "each launch downloads the model again",
				fmt.Sprintf("no volume, mount or cache of the container keeps what it downloads of %s; "+
					"write container { volumes = { hf-cache = %q } }", s.Spec.Model, hubCache), s.Range)
		}
		out.addGated(s)
	}
	return out.list
}

// CheckGated warns of processes of this machine that use a gated model without a token, unless hub, the folder of the
// hub's client, has the model or the token of a login. A plan does not depend on the machine, so it leaves this out.
func CheckGated(p *plan.Plan, hub string) hcl.Diagnostics {
	var out problems
	if p.Simulated != "" {
		return nil
	}
	for _, s := range (Resolver{Plan: p}).plannedServers() {
		if len(s.Spec.Executable) > 0 && hubModel.MatchString(s.Spec.Model) && !offers(hub, s.Spec.Model) {
			out.addGated(s)
		}
	}
	return out.list
}

// offers reports whether a process finds a model, or the token of a login, in the folder of the hub's client.
func offers(hub, model string) bool {
	return slices.ContainsFunc([]string{"token", "hub/models--" + strings.ReplaceAll(model, "/", "--")}, func(name string) bool {
		_, err := os.Stat(filepath.Join(hub, name))
		return hub != "" && err == nil
	})
}

// addGated warns of a server that uses a gated model without a token.
func (out *problems) addGated(s *config.Server) {
	if gated(s.Spec.Model) && !hasToken(s.Spec) {
		out.add(hcl.DiagWarning, "a gated model without a token",
			fmt.Sprintf("the hub gives %s only to accounts that have accepted its licence; unless its weights are there already, "+
				"pass a token in env = { HF_TOKEN = var.hf_token }", s.Spec.Model), s.Range)
	}
}

// keepsDownloads reports whether the container's download folder of the hub's client outlives a launch.
func keepsDownloads(spec steps.ServerSpec) bool {
	home, _ := steps.Getenv(spec.Env, "HF_HOME")
	hub, _ := steps.Getenv(spec.Env, "HF_HUB_CACHE")
	dir := cmp.Or(hub, home, hubCache)
	var kept []string
	if c := spec.Container; c != nil {
		for _, v := range c.Volumes {
			kept = append(kept, v.Target)
		}
		for _, m := range c.Mounts {
			kept = append(kept, m.Target)
		}
	}
	for _, c := range spec.Caches {
		kept = append(kept, c.Path)
	}
	return slices.ContainsFunc(kept, func(target string) bool {
		// If the image's user is not root, the cache is in another home.
		return strings.HasPrefix(dir+"/", path.Clean(target)+"/") || strings.Contains(target, "huggingface")
	})
}

func gated(model string) bool {
	return slices.ContainsFunc(gatedModels, func(prefix string) bool { return strings.HasPrefix(model, prefix) })
}

// HubTokens are the environment variables from which the hub's client takes a token, the first one first.
var HubTokens = []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}

func hasToken(spec steps.ServerSpec) bool {
	for _, name := range HubTokens {
		if token, _ := steps.Getenv(spec.Env, name); token != "" {
			return true
		}
	}
	return false
}
