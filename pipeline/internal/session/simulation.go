package session

import (
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
)

// realPart is a part of a file that a simulated run would have to take from the real world:
// a server that already answers, a command that talks to one.
type realPart struct {
	addr string
	at   hcl.Range
	err  error
}

// realParts lists what a simulated run cannot replace and must not touch, in the order of
// the plan. Nothing real is loaded, started or asked in a simulation of any kind.
func realParts(cfg *lang.Config, p *plan.Plan) []realPart {
	var found []realPart
	if p.Simulated == "" {
		return nil
	}
	for _, t := range p.Targets {
		for _, s := range serversOf(cfg, t.Addr) {
			if err := replaceable(s); err != nil {
				found = append(found, realPart{s.Addr, s.Range, err})
			}
		}
	}
	planned := func(b *lang.Benchmark) bool {
		return slices.ContainsFunc(p.Benchmarks, func(of plan.Benchmark) bool { return of.Addr == b.Addr })
	}
	for _, b := range cfg.Benchmarks {
		if !planned(b) {
			continue
		}
		for _, c := range b.Cells {
			if err := confined(c.Workload.Driver); err != nil {
				found = append(found, realPart{b.Addr, b.Range, err})
				break
			}
		}
	}
	return found
}

// replaceable reports why a simulated server cannot take the place of one of the file.
func replaceable(s *lang.Server) error {
	switch {
	case s.Spec.URL != "":
		return errors.New("it answers already at its url, and a simulated run replaces every server and loads no real one: give it an image or executable in place of url, leave its cells out with --only, or run it without --simulate")
	case s.Kind.Name == "openai":
		return errors.New("a server of kind \"openai\" cannot be simulated: nothing says which engine it is; use vllm or sglang, or leave its cells out with --only")
	}
	return nil
}

// confined reports why the command of a driver may reach past the simulated server: it
// names an address of its own, or none that is the server's.
func confined(d *steps.Driver) error {
	if d == nil || d.Kind != steps.DriverExec {
		return nil
	}
	words := slices.Clone(d.Command)
	for _, e := range d.Env {
		words = append(words, e.Value)
	}
	served := false
	for _, word := range words {
		if strings.Contains(word, steps.DriverVar("base_url")) || strings.Contains(word, steps.DriverVar("port")) {
			served = true
		}
		rest := strings.ReplaceAll(word, steps.DriverVar("host"), "")
		for _, scheme := range []string{"http://", "https://"} {
			if _, after, ok := strings.Cut(rest, scheme); ok && !strings.HasPrefix(after, ":"+steps.DriverVar("port")) {
				return errors.New("its driver's command names an address of its own (" + scheme + "…), and a simulated run loads no real server: write driver.base_url, or driver.host and driver.port")
			}
		}
	}
	if !served {
		return errors.New("its driver's command is not given the server's address, so it would load something else than the simulated server: write driver.base_url, or driver.host and driver.port")
	}
	return nil
}

// CheckSimulation finds what keeps a plan from being carried out with simulated servers:
// the parts of it that are real and cannot be replaced.
func CheckSimulation(cfg *lang.Config, p *plan.Plan) hcl.Diagnostics {
	var out hcl.Diagnostics
	for _, r := range realParts(cfg, p) {
		out = append(out, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: r.addr + " cannot be simulated", Subject: r.at.Ptr(),
			Detail: strings.ToUpper(r.err.Error()[:1]) + r.err.Error()[1:] + ".",
		})
	}
	return out
}

// simulationErrors is the same for a run that was planned by others.
func simulationErrors(opt Options) []error {
	var out []error
	for _, r := range realParts(opt.Config, opt.Plan) {
		out = append(out, &engine.ConfigError{Addr: r.addr, Range: plan.Range(r.at), Err: r.err})
	}
	return out
}
