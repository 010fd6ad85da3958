package session

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// targets resolves addresses to what the engine launches.
type targets struct {
	opt        Options
	launcher   steps.Launcher
	containers *containers
	cluster    *cluster // nil where all runs on this machine
	// folder makes a folder of a launch.
	folder func(name string) (string, error)
}

func (t targets) resolve(addr string, outputs engine.Outputs) (engine.TargetSpec, error) {
	if d := deploymentAt(t.opt.Config, addr); d != nil {
		return t.deployed(d, outputs)
	}
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
	if spec.Spread() {
		s, err := t.newSpread(server, spec)
		if err != nil {
			return engine.TargetSpec{}, err
		}
		return s.target(), nil
	}
	return t.single(server, spec)
}

// single is a target of one server.
func (t targets) single(server *lang.Server, spec steps.ServerSpec) (engine.TargetSpec, error) {
	m := engine.Member{
		Name: server.Addr, Role: result.RoleServer, Range: plan.Range(server.Range),
		Spec: spec, Engine: t.opt.Engines[spec.Engine], Launcher: t.launcher,
	}
	if err := groundOf(t.opt.Config.Settings.Docker, t.opt.Plan.Simulated, false).check(spec, server.Addr); err != nil && t.cluster == nil {
		return engine.TargetSpec{}, err
	}
	if t.cluster == nil && inContainer(t.opt.Plan, server) {
		h := t.containers.host(spec.Node)
		m.Launcher = h.launcher
		if c := spec.Container; c != nil && c.Network == steps.NetworkHost && !h.local {
			m.Spec.Listen = anyAddress
		}
	}
	if t.opt.Plan.Simulated != "" && spec.URL == "" {
		return t.simulated(m), nil
	}
	if spec.Image == "" {
		m.Spec = located(spec, t.opt.Dir)
	}
	if t.cluster != nil && spec.URL == "" {
		places, err := t.cluster.places([]steps.Member{{Name: server.Addr, Spec: m.Spec}})
		if err != nil {
			return engine.TargetSpec{}, err
		}
		m.Spec, m.Launcher = onNode(m.Spec), t.cluster.launcher(places[0])
	}
	return engine.Single(m, nil), nil
}

// simulated puts the simulator into a server's place, as a process or as a container.
func (t targets) simulated(m engine.Member) engine.TargetSpec {
	spec := m.Spec
	m.Spec = bare(spec)
	if t.opt.Plan.Simulated == SimulateContainer {
		m.Spec = t.containers.simulatedSpec(spec)
	}
	m.Spec.Ready = inItsOwnTime(m.Spec.Ready, t.opt.Plan.TimeScale)
	return engine.Single(m, func(p steps.Process, launch string) (steps.Process, error) {
		return t.simulatedProcess(p, spec, launch)
	})
}

// shortestInterval between two looks at a server that starts faster than real ones.
const shortestInterval = 50 * time.Millisecond

// inItsOwnTime looks more often where the model's clock runs faster: start-up times are
// told in its time, and would be known to within many seconds only.
func inItsOwnTime(r steps.Readiness, timeScale float64) steps.Readiness {
	r = r.WithDefaults()
	if timeScale > 1 {
		r.Interval = max(min(r.Interval, shortestInterval), time.Duration(float64(r.Interval)/timeScale))
	}
	return r
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
	if len(spec.Executable) > 0 {
		spec.Executable = append([]string{locatedProgram(spec.Executable[0], dir)}, spec.Executable[1:]...)
	}
	return spec
}

// locatedProgram makes a program's path absolute; a plain name is found by PATH.
func locatedProgram(name, dir string) string {
	if dir != "" && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		return filepath.Join(dir, name)
	}
	return name
}

func find(cfg *lang.Config, addr string) (*lang.Server, error) {
	for _, s := range cfg.Servers {
		if s.Addr == addr {
			return s, nil
		}
	}
	return nil, fmt.Errorf("%s is not a server or deployment of this pipeline", addr)
}

// deploymentAt returns the deployment at an address, nil if there is none.
func deploymentAt(cfg *lang.Config, addr string) *lang.Deployment {
	for _, d := range cfg.Deployments {
		if d.Addr == addr {
			return d
		}
	}
	return nil
}

// serversOf are the servers that a target consists of.
func serversOf(cfg *lang.Config, addr string) []*lang.Server {
	if d := deploymentAt(cfg, addr); d != nil {
		return d.Servers
	}
	if s, err := find(cfg, addr); err == nil {
		return []*lang.Server{s}
	}
	return nil
}
