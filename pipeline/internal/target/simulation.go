package target

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/simulate"
)

// realPart is a part of a file that a simulated run cannot replace: a server that already runs at a URL, a command
// that sends requests to one, or a router of others.
type realPart struct {
	Addr  string
	Range hcl.Range
	Err   error
}

// realParts lists what a simulated run cannot replace and must not use, in plan order. No simulation of any kind
// starts, loads or queries anything real.
func realParts(p *plan.Plan) []realPart {
	var found []realPart
	if p.Simulated == "" {
		return nil
	}
	for _, t := range p.Targets {
		for _, s := range p.Config.ServersOf(t.Addr) {
			if err := replaceable(s); err != nil {
				found = append(found, realPart{s.Addr, s.Range, err})
			}
		}
		if d := p.Config.DeploymentAt(t.Addr); d != nil && d.Router != nil {
			if err := routable(d.Spec.Router, p.Simulated); err != nil {
				found = append(found, realPart{d.Router.Addr, d.Router.Range, err})
			}
		}
	}
	planned := func(b *config.Benchmark) bool {
		return slices.ContainsFunc(p.Benchmarks, func(of plan.Benchmark) bool { return of.Addr == b.Addr })
	}
	for _, b := range p.Config.Benchmarks {
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

// replaceable returns why a simulated server cannot replace a server of the file, nil if it can.
func replaceable(s *config.Server) error {
	switch {
	case s.Spec.URL != "":
		return errors.New("it answers already at its url, and a simulated run replaces every server and loads no real one: give it an image or " +
			"executable in place of url, leave its cells out with --only, or run it without --simulate")
	case s.Kind.Program == nil:
		return fmt.Errorf(
			"a server of kind %q cannot be simulated: nothing says which engine it is; use vllm, sglang or llamacpp, or leave its "+
				"cells out with --only",
			s.Kind.Name)
	}
	return nil
}

// confined returns why the command of a driver may reach past the simulated server, nil if it cannot: it contains
// another address, or lacks the server's.
func confined(d *steps.Driver) error {
	if !d.Runs() || d.Kind == steps.DriverOffline {
		return nil
	}
	words := slices.Clone(d.Command)
	for _, e := range d.Env {
		words = append(words, e.Value)
	}
	host, port := steps.DriverVar("host"), steps.DriverVar("port")
	if scheme := ownAddress(words, host, port); scheme != "" {
		return errors.New("its driver's command names an address of its own (" + scheme +
			"…), and a simulated run loads no real server: write driver.base_url, or driver.host and driver.port")
	}
	served := func(word string) bool {
		return strings.Contains(word, steps.DriverVar("base_url")) || strings.Contains(word, port)
	}
	if !slices.ContainsFunc(words, served) {
		return errors.New("its driver's command is not given the server's address, so it would load something else than the simulated server: " +
			"write driver.base_url, or driver.host and driver.port")
	}
	return nil
}

// ownAddress returns the scheme of an address in the words of a command other than the one that the placeholders of host
// and port give, "" if there is none.
func ownAddress(words []string, host, port string) string {
	for _, word := range words {
		rest := strings.ReplaceAll(word, host, "")
		for _, scheme := range []string{"http://", "https://"} {
			if _, after, ok := strings.Cut(rest, scheme); ok && !strings.HasPrefix(after, ":"+port) {
				return scheme
			}
		}
	}
	return ""
}

// routable returns why a simulated run cannot start a router, nil if it can. A router of others is started itself, before
// simulated servers on sockets of this machine.
func routable(r *steps.RouterSpec, simulated string) error {
	if len(r.Command) == 0 {
		return nil
	}
	if simulated != plan.SimulateProcess {
		return errors.New("it is a program that needs servers on sockets of this machine, and its policy has no model: use --simulate, which " +
			"starts it before simulated servers")
	}
	words := slices.Clone(r.Command)
	for _, e := range r.Env {
		words = append(words, e.Value)
	}
	if scheme := ownAddress(words, steps.RouterVar("host"), steps.RouterVar("port")); scheme != "" {
		return errors.New("its command names an address of its own (" + scheme +
			"…), and a simulated run sends nothing to a real server: write router.decode, or router.host and router.port")
	}
	return nil
}

// CheckSimulation returns errors for parts of a plan that are real and cannot be simulated. It warns of servers that
// would not start for lack of memory, and of models of unknown size.
func CheckSimulation(p *plan.Plan, engines map[string]steps.Engine, connectors kv.Table) hcl.Diagnostics {
	var out problems
	for _, r := range realParts(p) {
		out.add(hcl.DiagError, r.Addr+" cannot be simulated", r.Err.Error(), r.Range)
	}
	if p.Simulated == "" || len(out.list) > 0 {
		return out.list
	}
	r := Resolver{Plan: p, Engines: engines, Connectors: connectors}
	for _, s := range r.plannedServers() {
		seen, ok := r.inspect(s)
		if !ok { // its command line is unknown before the run, or the run refuses it
			seen.Virtual = r.overSockets(s)
		}
		switch {
		case seen.Virtual != nil && p.OverSockets():
			out.add(hcl.DiagError, s.Addr+" cannot be simulated over sockets", seen.Virtual.Error(), s.Range)
		case ok && seen.Refused != nil:
			out.add(hcl.DiagWarning, s.Addr+" would not start", seen.Refused.Error(), s.Range)
		case ok && seen.Unknown:
			out.add(hcl.DiagWarning, "the size of "+s.Spec.Model+" is not known",
				seen.Size+": give simulate { parameters = 32e9 } or so, or a folder with config.json", s.Range)
		}
	}
	if !out.list.HasErrors() {
		r.checkTransfers(&out)
	}
	return out.list
}

// checkTransfers finds deployments whose connector is simulated in virtual time only. Errors of the layout are reported
// where the deployment is placed.
func (r Resolver) checkTransfers(out *problems) {
	if !r.Plan.OverSockets() {
		return
	}
	for _, t := range r.Plan.Targets {
		d := r.Plan.Config.DeploymentAt(t.Addr)
		if d == nil || d.Transfer == nil {
			continue
		}
		layout, err := r.Connectors.NewLayout(d.Spec)
		if err != nil {
			continue
		}
		if err := layout.OverSockets(); err != nil {
			out.add(hcl.DiagError, d.Addr+" cannot be simulated over sockets", err.Error(), d.Transfer.Range)
		}
	}
}

// ValidateSimulation warns of servers whose simulate block names hardware that their model does not fit on.
func ValidateSimulation(cfg *config.Config, engines map[string]steps.Engine, connectors kv.Table) hcl.Diagnostics {
	var out problems
	r := Resolver{Plan: &plan.Plan{Config: cfg, TimeScale: 1}, Engines: engines, Connectors: connectors}
	for _, s := range cfg.Servers {
		if s.Spec.Simulate["profile"] == nil {
			continue
		}
		if seen, ok := r.inspect(s); ok && seen.Refused != nil {
			out.add(hcl.DiagWarning, s.Addr+" would not start in a simulated run", seen.Refused.Error(), s.Range)
		}
	}
	return out.list
}

// problems holds the diagnostics of a file. A diagnostic that several instances of a block share is added once.
type problems struct{ list hcl.Diagnostics }

func (p *problems) add(severity hcl.DiagnosticSeverity, summary, detail string, at hcl.Range) {
	detail = strings.ToUpper(detail[:1]) + detail[1:] + "."
	for _, d := range p.list {
		if d.Detail == detail && *d.Subject == at {
			return
		}
	}
	p.list = append(p.list, &hcl.Diagnostic{Severity: severity, Summary: summary, Subject: at.Ptr(), Detail: detail})
}

// plannedServers returns the servers of a plan's targets, each once.
func (r Resolver) plannedServers() []*config.Server {
	var out []*config.Server
	for _, t := range r.Plan.Targets {
		for _, s := range r.Plan.Config.ServersOf(t.Addr) {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// anyPort is the port in a command line that is only inspected.
const anyPort = 8000

// inspect returns what the simulator knows of a server. It returns false if the server cannot be simulated or its
// command line is refused, which the run itself reports.
func (r Resolver) inspect(s *config.Server) (simulate.Inspection, bool) {
	e, known := r.Engines[s.Kind.Name]
	if !known || replaceable(s) != nil || dependsOnSteps(s.Spec) {
		return simulate.Inspection{}, false
	}
	settings, err := settingsOf(s.Spec, r.Plan.Config.Folder, r.Plan.TimeScale, "check")
	if err != nil {
		return simulate.Inspection{}, false
	}
	process, err := e.Render(plain(s.Spec), s.Spec.ListenHost(), steps.PortNumber(anyPort))
	if err != nil {
		return simulate.Inspection{}, false
	}
	settings.Files = filesNamed(process)
	seen, err := simulate.Simulator{Connectors: r.Connectors}.Inspect(process.Argv, settings)
	return seen, err == nil
}

// overSockets returns why the release of a server cannot be simulated over sockets, nil if it can or none is stated.
func (r Resolver) overSockets(s *config.Server) error {
	if replaceable(s) != nil {
		return nil
	}
	return simulate.OverSockets(s.Spec.Engine, s.Spec.EngineVersion())
}

// SizeNotes returns notes for a report on the models whose size was not modelled, each once.
func (r Resolver) SizeNotes() []string {
	var notes []string
	for _, s := range r.plannedServers() {
		seen, ok := r.inspect(s)
		if note := "simulation: " + seen.Size; ok && !seen.Modelled && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}
