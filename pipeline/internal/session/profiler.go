package session

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/machine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	engines "github.com/servegate/pipeline/steps/engine"
	"github.com/servegate/pipeline/steps/nsys"
)

// containerDir is the folder for traces in containers.
const containerDir = "/tmp/pipeline-profile"

// profiled changes a server so that it can be profiled.
func (p *profiling) profiled(ctx context.Context, l plan.Launch, s *side, spec steps.ServerSpec, contained bool) (steps.ServerSpec, error) {
	here, err := p.dir.Folder("profile-" + s.Side + "-" + spec.Addr)
	if err != nil {
		return spec, err
	}
	s.secret = s.secret || spec.APIKey != "" || slices.ContainsFunc(spec.Env, func(e steps.EnvVar) bool { return e.Secret })
	dir := traceDir{here, here}
	if contained {
		dir.there = containerDir
	} else if p.targets.ProfiledAround() {
		if err := nsys.Check(ctx, p.beside(spec)); err != nil {
			return spec, fmt.Errorf("%s: %w", spec.Addr, err)
		}
	}
	s.dirs[spec.Addr] = dir
	profiler, err := p.targets.Profiler(p.opt.Engines[spec.Engine], nsys.Profiler{Session: p.sessionOf(dir)})
	if err != nil {
		return spec, fmt.Errorf("%s: %w", spec.Addr, err)
	}
	return profiler.Profiled(spec, dir.there, p.version(l.Target, spec))
}

// beside returns a function that runs a program on this machine with a server's environment and folder.
func (p *profiling) beside(spec steps.ServerSpec) func(context.Context, []string) (string, string, error) {
	return func(ctx context.Context, argv []string) (string, string, error) {
		return steps.Output(ctx, p.spawner, steps.Command{Argv: argv, Env: spec.Env, Dir: place.InFolder(spec, p.opt.Plan.Config.Folder).Dir})
	}
}

// around returns a profiler that profiles a running server from outside.
func (p *profiling) around(s *side, server engine.Attended) nsys.Profiler {
	out := nsys.Profiler{Session: p.sessionOf(s.dirs[server.Addr]), Tokens: func(context.Context) *float64 { return nil }}
	if o := server.Engine.Capabilities().Observer; o != nil {
		out.Tokens = engines.OutputTokens(server.Endpoint, o.Observe)
	}
	out.Exec = func(ctx context.Context, argv []string) (string, string, error) {
		run := server.Running.Capabilities().Exec
		if run == nil {
			return "", "", fmt.Errorf("no program can be run beside %s", server.Addr)
		}
		return run(ctx, argv)
	}
	return out
}

// sessionOf returns a unique nsys session name for a server, from the run ID and the folder of its traces.
func (p *profiling) sessionOf(dir traceDir) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, "pipeline-"+p.runID+"-"+filepath.Base(dir.here))
}

// settle waits until everything around a server has ended: nsys ends at once, and the server a little later.
func (p *profiling) settle(ctx context.Context) {
	if !p.targets.ProfiledAround() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), steps.DefaultStopGrace)
	defer cancel()
	if !steps.Poll(ctx, 100*time.Millisecond, func() bool { return len(spawn.FindStrays()) == 0 }) {
		p.warnAll(machine.EndStrays())
	}
}

// explain adds a likely cause to a failure.
func (p *profiling) explain(err error, s *side) error {
	for _, dir := range s.dirs {
		if p.targets.ProfiledAround() && dir.here != dir.there {
			return fmt.Errorf("%w; its image must have nsys in its PATH", err)
		}
	}
	return err
}

// version returns the version of the engine from the file or the measured server, "" if neither reports it.
func (p *profiling) version(target string, spec steps.ServerSpec) string {
	if v := spec.EngineVersion(); v != "" {
		return v
	}
	for _, t := range p.doc.Targets {
		if t.Addr != target {
			continue
		}
		for name, text := range t.Describe {
			if name == "version" || strings.HasSuffix(name, "/version") {
				return text // all servers of a deployment have the same engine
			}
		}
	}
	return ""
}
