package session

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// supported says, before anything starts, which part of the plan nothing can carry out yet.
func supported(opt Options) error {
	rights, err := newContainers(opt, "check", nil)
	if err != nil {
		return err
	}
	found := simulationErrors(opt)
	for _, t := range opt.Plan.Targets {
		servers := serversOf(opt.Config, t.Addr)
		for _, server := range servers {
			err := runnable(opt, server)
			if err == nil && opt.Plan.Simulated == "" && server.Spec.Image != "" && rights != nil {
				err = rights.refused(server.Spec)
			}
			if err != nil {
				found = append(found, &engine.ConfigError{Addr: server.Addr, Range: plan.Range(server.Range), Err: err})
			}
		}
		if !onCluster(opt) {
			if err := grounded(opt.Config, t.Addr, opt.Plan.Simulated); err != nil {
				found = append(found, &engine.ConfigError{Addr: t.Addr, Range: t.Range, Err: err})
			}
		}
		if len(servers) == 0 {
			found = append(found, &engine.ConfigError{Addr: t.Addr, Range: t.Range, Err: errors.New("it is not a server or deployment of this pipeline")})
		}
	}
	for _, s := range opt.Plan.Steps {
		for _, step := range opt.Config.Steps {
			if step.Addr == s.Addr && step.Kind.Unsupported != "" && opt.Plan.Simulated == "" {
				found = append(found, &engine.ConfigError{Addr: s.Addr, Range: s.Range, Err: steps.Unsupported("", step.Kind.Unsupported)})
			}
		}
	}
	for _, b := range opt.Config.Benchmarks {
		if err := driven(opt, b); err != nil {
			found = append(found, &engine.ConfigError{Addr: b.Addr, Range: plan.Range(b.Range), Err: err})
			continue
		}
		if err := servesEndpoint(opt.Config, opt.Engines, b); err != nil {
			found = append(found, &engine.ConfigError{Addr: b.Addr, Range: plan.Range(b.Range), Err: err})
		}
	}
	for _, b := range opt.Plan.Benchmarks {
		for _, c := range b.Cells {
			if d := c.Workload.Dataset; dataset.Absent(d) {
				found = append(found, &engine.ConfigError{Addr: b.Addr, Range: b.Range, Err: errors.New(dataset.AbsentText(d))})
				break
			}
			if opt.Plan.Simulated != "" && c.Workload.Endpoint == "embeddings" {
				found = append(found, &engine.ConfigError{Addr: b.Addr, Range: b.Range, Err: errors.New("a simulated server has a model that generates, and makes no embeddings: measure them on a real one")})
				break
			}
		}
	}
	if onCluster(opt) {
		for _, f := range misplaced(opt.Config) {
			found = append(found, f)
		}
		if s := opt.Config.Settings; s.Slurm.LoadNode != nil && opt.Front != nil {
			found = append(found, &engine.ConfigError{Addr: "pipeline.slurm", Range: plan.Range(s.SlurmRange), Err: errors.New("load of a node cannot be delayed on purpose, since what delays it runs beside the command: leave load_node out")})
		}
	}
	if opt.Plan.Simulated == SimulateVirtual && len(found) == 0 {
		found = virtually(opt)
	}
	return errors.Join(append(found, unusable(opt)...)...)
}

func runnable(opt Options, s *lang.Server) error {
	_, known := opt.Engines[s.Kind.Name]
	switch {
	case s.Kind.Unsupported != "":
		return steps.Unsupported("", s.Kind.Unsupported)
	case !known:
		return steps.Unsupported("", fmt.Sprintf("servers of kind %q are not supported yet", s.Kind.Name))
	case opt.Plan.Simulated != "" && replaceable(s) != nil: // reported with the other real parts
		return nil
	case opt.Plan.Simulated != "" && dependsOnSteps(s.Spec):
		return errors.New("its arguments come from a step, which a simulated run does not carry out: give them values that need no step")
	case opt.Plan.Simulated != "":
		_, err := settingsOf(s.Spec, opt.Dir, opt.Plan.TimeScale, "check")
		return err
	}
	return nil
}

// dependsOnSteps says whether the model or an argument is known only after a step.
func dependsOnSteps(spec steps.ServerSpec) bool {
	late := func(v any) bool {
		text, ok := v.(string)
		return ok && strings.HasPrefix(text, lang.LatePrefix)
	}
	return late(spec.Model) || slices.ContainsFunc(spec.Args, func(a steps.Arg) bool { return late(a.Value) })
}

// servesEndpoint says which target of a benchmark does not have the endpoint it uses. A
// deployment has those that all of its servers have.
func servesEndpoint(cfg *lang.Config, engines map[string]steps.Engine, b *lang.Benchmark) error {
	for _, c := range b.Cells {
		for _, server := range serversOf(cfg, c.Target) {
			e, ok := engines[server.Kind.Name]
			if ok && c.Workload.Driver == nil && !slices.Contains(e.Endpoints(), c.Workload.Endpoint) {
				return fmt.Errorf("%s has no endpoint %q; a server of kind %q serves %s", server.Addr, c.Workload.Endpoint, server.Kind.Name, strings.Join(e.Endpoints(), ", "))
			}
		}
	}
	return nil
}

// Validate finds what a file asks of its servers and their kinds do not have.
func Validate(cfg *lang.Config, engines map[string]steps.Engine) hcl.Diagnostics {
	var out hcl.Diagnostics
	for _, b := range cfg.Benchmarks {
		if err := servesEndpoint(cfg, engines, b); err != nil {
			out = append(out, &hcl.Diagnostic{
				Severity: hcl.DiagError, Summary: "the target does not serve the endpoint", Subject: b.TargetRange.Ptr(),
				Detail: strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + ".",
			})
		}
		if d := absentFile(b); d != nil {
			out = append(out, d)
		}
	}
	if cfg.Settings.Slurm == nil { // which places its servers by itself
		out = append(out, ungrounded(cfg)...)
	}
	return out
}

// ungrounded finds the targets of a file that cannot be placed.
func ungrounded(cfg *lang.Config) hcl.Diagnostics {
	var out hcl.Diagnostics
	check := func(addr string, at hcl.Range) {
		if err := grounded(cfg, addr, ""); err != nil {
			out = append(out, &hcl.Diagnostic{
				Severity: hcl.DiagError, Summary: addr + " cannot be placed", Subject: at.Ptr(),
				Detail: strings.ToUpper(err.Error()[:1]) + err.Error()[1:] + ".",
			})
		}
	}
	members := map[string]bool{}
	for _, d := range cfg.Deployments {
		check(d.Addr, d.Range)
		for _, s := range d.Servers {
			members[s.Addr] = true
		}
	}
	for _, s := range cfg.Servers {
		if !members[s.Addr] {
			check(s.Addr, s.Range)
		}
	}
	return out
}

// grounded says why a target cannot be placed on this machine and the Docker hosts.
func grounded(cfg *lang.Config, addr, simulated string) error {
	if d := deploymentAt(cfg, addr); d != nil {
		_, err := placed(spread(d.Spec.Members), groundOf(cfg.Settings.Docker, simulated, d.Spec.Transfer != nil))
		return err
	}
	s, err := find(cfg, addr)
	if err != nil {
		return nil //nolint:nilerr // that it is none is said elsewhere
	}
	ground := groundOf(cfg.Settings.Docker, simulated, false)
	if err := ground.check(s.Spec, s.Addr); err != nil || !s.Spec.Spread() {
		return err
	}
	_, err = placed(spread([]steps.Member{{Spec: s.Spec}}), ground)
	return err
}

// absentFile reports a dataset whose file is not there: an error, unless a simulated run
// can do without.
func absentFile(b *lang.Benchmark) *hcl.Diagnostic {
	for _, c := range b.Cells {
		d := c.Workload.Dataset
		if !dataset.Absent(d) {
			continue
		}
		severity := hcl.DiagError
		if dataset.Rehearsed(d).Synthetic {
			severity = hcl.DiagWarning
		}
		text := dataset.AbsentText(d)
		return &hcl.Diagnostic{Severity: severity, Summary: "the dataset's file is not there", Subject: b.Range.Ptr(), Detail: strings.ToUpper(text[:1]) + text[1:] + "."}
	}
	return nil
}
