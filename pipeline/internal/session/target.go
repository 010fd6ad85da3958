package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
)

// targets resolves addresses to what the engine launches.
type targets struct {
	opt        Options
	launcher   steps.Launcher
	containers *containers
}

func (t targets) resolve(addr string, outputs engine.Outputs) (engine.TargetSpec, error) {
	server, err := find(t.opt.Config, addr)
	if err != nil {
		return engine.TargetSpec{}, err
	}
	spec := server.Spec
	// A simulated run carries out no step: what their outputs would be stays a placeholder.
	if server.Late && t.opt.Plan.Simulated == "" {
		resolved, diags := t.opt.Config.ResolveServer(addr, outputs)
		if diags.HasErrors() {
			return engine.TargetSpec{}, diags
		}
		spec = resolved
	}
	return t.single(server, spec), nil
}

// single is a target of one server.
func (t targets) single(server *lang.Server, spec steps.ServerSpec) engine.TargetSpec {
	m := engine.Member{
		Name: server.Addr, Role: result.RoleServer, Range: plan.Range(server.Range),
		Spec: spec, Engine: t.opt.Engines[spec.Engine], Launcher: t.launcher,
	}
	if inContainer(t.opt.Plan, server) {
		m.Launcher = t.containers.launcher
	}
	if t.opt.Plan.Simulated != "" && spec.URL == "" {
		return t.simulated(m)
	}
	if spec.Image == "" {
		m.Spec = located(spec, t.opt.Dir)
	}
	return engine.Single(m, nil)
}

// simulated puts the simulator into a server's place, as a process or as a container.
func (t targets) simulated(m engine.Member) engine.TargetSpec {
	spec, self := m.Spec, t.opt.Self
	m.Spec = bare(spec)
	if t.opt.Plan.Simulated == SimulateContainer {
		m.Spec, self = t.containers.simulatedSpec(spec), docker.SimulatorProgram
	}
	return engine.Single(m, func(p steps.Process, launch string) (steps.Process, error) {
		return simulated(p, spec, self, t.opt.Plan.TimeScale, launch)
	})
}

// bare is a spec as the simulator takes it: the engine's plain program in place of an
// image or a path, since nothing of either is used.
func bare(spec steps.ServerSpec) steps.ServerSpec {
	spec.Image, spec.Executable, spec.Dir = "", program(spec.Engine), ""
	return spec
}

// program is the argv prefix that an engine has in its own images.
func program(engine string) []string {
	if engine == "sglang" {
		return []string{"python3", "-m", "sglang.launch_server"}
	}
	return []string{"vllm"}
}

// located makes the working directory absolute, and an executable that names a path.
// Both are meant from the pipeline file's folder.
func located(spec steps.ServerSpec, dir string) steps.ServerSpec {
	if spec.Dir == "" {
		spec.Dir = dir
	} else if !filepath.IsAbs(spec.Dir) {
		spec.Dir = filepath.Join(dir, spec.Dir)
	}
	if len(spec.Executable) > 0 && strings.ContainsRune(spec.Executable[0], filepath.Separator) && !filepath.IsAbs(spec.Executable[0]) {
		argv := append([]string{filepath.Join(dir, spec.Executable[0])}, spec.Executable[1:]...)
		spec.Executable = argv
	}
	return spec
}

func find(cfg *lang.Config, addr string) (*lang.Server, error) {
	for _, s := range cfg.Servers {
		if s.Addr == addr {
			return s, nil
		}
	}
	for _, d := range cfg.Deployments {
		if d.Addr == addr {
			return nil, steps.Unsupported(addr, "deployments of several servers are not supported yet; they are parsed, checked and planned")
		}
	}
	return nil, fmt.Errorf("%s is not a server of this pipeline", addr)
}

// supported says, before anything starts, which part of the plan nothing can carry out yet.
func supported(opt Options) error {
	rights, err := newContainers(opt, "check", nil)
	if err != nil {
		return err
	}
	var found []error
	for _, t := range opt.Plan.Targets {
		server, err := find(opt.Config, t.Addr)
		if err == nil {
			err = runnable(opt, server)
		}
		if err == nil && opt.Plan.Simulated == "" && server.Spec.Image != "" {
			err = rights.refused(server.Spec)
		}
		if err != nil {
			found = append(found, &engine.ConfigError{Addr: t.Addr, Range: t.Range, Err: err})
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
		if err := opt.servesEndpoint(b); err != nil {
			found = append(found, &engine.ConfigError{Addr: b.Addr, Range: plan.Range(b.Range), Err: err})
		}
		if kind := unsupportedDataset(b); kind != "" {
			found = append(found, &engine.ConfigError{Addr: b.Addr, Range: plan.Range(b.Range), Err: steps.Unsupported("", fmt.Sprintf("datasets of kind %q are not supported yet; use random or sonnet", kind))})
		}
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
	case opt.Plan.Simulated != "" && s.Kind.Name == "openai" && s.Spec.URL == "":
		return errors.New("a server of kind \"openai\" cannot be simulated: nothing says which engine it is; use vllm or sglang")
	case opt.Plan.Simulated != "" && s.Spec.URL == "" && dependsOnSteps(s.Spec):
		return errors.New("its arguments come from a step, which a simulated run does not carry out: give them values that need no step")
	case opt.Plan.Simulated != "" && s.Spec.URL == "":
		_, err := settingsOf(s.Spec, opt.Plan.TimeScale, "check")
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

// servesEndpoint says which target of a benchmark does not have the endpoint it uses.
func (o Options) servesEndpoint(b *lang.Benchmark) error {
	for _, c := range b.Cells {
		server, err := find(o.Config, c.Target)
		if err != nil {
			continue // said for the target
		}
		e, ok := o.Engines[server.Kind.Name]
		if ok && !slices.Contains(e.Endpoints(), c.Workload.Endpoint) {
			return fmt.Errorf("%s has no endpoint %q; a server of kind %q serves %s", c.Target, c.Workload.Endpoint, server.Kind.Name, strings.Join(e.Endpoints(), ", "))
		}
	}
	return nil
}

func unsupportedDataset(b *lang.Benchmark) string {
	for _, c := range b.Cells {
		if k := c.Workload.Dataset.Kind; k != "random" && k != "sonnet" {
			return k
		}
	}
	return ""
}

// Argv is the command line of a server for display, with PORT in place of the port.
func Argv(e steps.Engine, spec steps.ServerSpec, simulate bool) ([]string, error) {
	if simulate {
		spec = bare(spec)
	}
	const port = 65535 // stands for the port, which is chosen at launch
	shown := spec.Port
	if shown == 0 {
		shown = port
	}
	p, err := e.Render(spec, spec.ListenHost(), shown)
	if err != nil {
		return nil, err
	}
	argv := p.Argv
	for i, word := range argv {
		if spec.Port == 0 && word == strconv.Itoa(port) {
			argv[i] = "PORT"
		}
	}
	return argv, nil
}
