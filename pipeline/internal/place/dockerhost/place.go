// Package dockerhost runs the processes of a plan in containers: at the daemon of DOCKER_HOST, or at the hosts
// of the file's docker block.
package dockerhost

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
)

// Kind takes processes in containers. It also takes servers that a docker block places at other hosts without a
// container; Check rejects those.
func Kind() place.Kind {
	return place.Kind{
		Name:       "docker",
		Containers: []steps.ContainerSupport{docker.Containers(docker.Allow{})},
		Cleaner:    cleaner,
		Examine:    examine,
		Takes: func(o place.Options, p place.Process) bool {
			if p.Role == place.RoleRouter { // at another host it would be far from the load
				return p.Contained && firstIsHere(o)
			}
			elsewhere := p.Role == place.RoleServer && (p.Spec.Node > 0 || p.Spec.Spread())
			return p.Contained || elsewhere && o.Plan.Config.Settings.Docker != nil && o.Plan.Simulated == ""
		},
		New: func(o place.Options) (place.Place, error) { return newHosts(o) },
	}
}

// firstIsHere reports whether the first host is this machine.
func firstIsHere(o place.Options) bool {
	if spec := o.Plan.Config.Settings.Docker; spec != nil && len(spec.Hosts) > 0 {
		return !spec.Hosts[0].Elsewhere()
	}
	return o.Shown || docker.IsLocal(docker.HostFromEnv(o.Getenv))
}

// hosts holds the Docker daemons of a run. They are not contacted before the preflight.
type hosts struct {
	place.Base
	opt place.Options
	// list holds the hosts by number: those of the docker block, else the one of DOCKER_HOST.
	list []*host
	// simulator is the image of simulated servers; the preflight builds it.
	simulator string
}

var _ place.Place = (*hosts)(nil)

// A container may live as long as the plan may take, or a day, plus some time for stopping it.
const (
	defaultLifetime = 24 * time.Hour
	stopLifetime    = 15 * time.Minute
)

// shownImage stands for the simulator's image, which is built when a run begins.
const shownImage = "pipeline-simulator"

func newHosts(opt place.Options) (*hosts, error) {
	h := &hosts{opt: opt, simulator: shownImage}
	if opt.Shown {
		h.list = shownHosts(opt.Plan.Config.Settings.Docker)
		return h, nil
	}
	dir, err := filepath.Abs(opt.Plan.Config.Folder)
	if err != nil {
		return nil, err
	}
	lifetime := defaultLifetime
	if opt.Plan.Timeout > 0 {
		lifetime = time.Duration(opt.Plan.Timeout * float64(time.Second))
	}
	h.list = hostsOf(opt.Plan.Config.Settings.Docker, dir, opt.RunID, opt.Getenv)
	for _, at := range h.list {
		at.launcher, err = docker.New(docker.Options{
			Host: at.url, Address: at.address, RunID: opt.RunID, Deadline: opt.Now().Add(lifetime + stopLifetime), Owner: spawn.Owner(),
			Dir: dir, Allow: opt.Allow, Credentials: learning(opt.Redact, registryCredentials(opt.Getenv)), Log: opt.Log,
		})
		if err != nil {
			return nil, err
		}
		at.address, at.local = at.launcher.Address(), at.launcher.Local()
	}
	return h, nil
}

// at returns the host of a process. Nodes matter only if the docker block names hosts; services and the router
// use the first.
func (h *hosts) at(p place.Process) *host {
	if len(h.list) == 1 || p.Role != place.RoleServer {
		return h.list[0]
	}
	return h.list[p.Spec.Node]
}

// Check implements place.Place.
func (h *hosts) Check(t place.Target) (found []error) {
	for _, p := range t.Processes {
		err := h.checkHost(t, p)
		if err == nil {
			err = h.checkNetwork(t, p)
		}
		if err == nil {
			err = h.checkRights(p)
		}
		if err != nil {
			found = append(found, err)
		}
	}
	return found
}

// checkHost returns why a process cannot be on its host.
func (h *hosts) checkHost(t place.Target, p place.Process) error {
	block := h.opt.Plan.Config.Settings.Docker
	switch {
	case block == nil || p.Spec.URL != "" || p.Role == place.RoleRouter:
	case p.Role == place.RoleService:
		if first := h.list[0]; !p.Contained && !first.local {
			return fmt.Errorf("service %q is an executable, which runs on this machine, where servers at %s do not reach it; give it an image",
				p.Name, first.shown)
		}
	case p.Contained && p.Spec.Node >= len(h.list):
		return fmt.Errorf(
			"server %q is on node %d, beyond the %d hosts of the docker block, which count from 0; add a host, or lower node or nodes", p.Name,
			p.Spec.Node, len(h.list))
	case !p.Contained && h.opt.Plan.Simulated == "" && (t.Together || p.Spec.Spread() || p.Spec.Node > 0):
		return fmt.Errorf("server %q is an executable, which runs on this machine, where servers at the hosts of the docker block do not reach "+
			"it; give it an image", p.Name)
	}
	return nil
}

// checkNetwork returns why servers that must reach each other cannot. Servers hand over KV caches on the
// machine's own network, as in production.
func (h *hosts) checkNetwork(t place.Target, p place.Process) error {
	c := p.Spec.Container
	if p.Spec.Image == "" || p.Spec.URL != "" || c == nil || !together(t, p) || h.opt.Plan.Simulated != "" {
		return nil
	}
	if c.Network != "" && c.Network != steps.NetworkHost {
		return fmt.Errorf("server %q has network = %q, in which the other servers do not reach the ports of its KV transfer or of its ranks; "+
			"leave network out, or set it to %q", p.Name, c.Network, steps.NetworkHost)
	}
	return nil
}

// together reports whether others must reach a process.
func together(t place.Target, p place.Process) bool { return t.Together || p.Spec.Spread() }

// checkRights returns why a container would get rights over the machine that the command line does not allow.
// Other errors show at the launch, because a step may fix them by then.
func (h *hosts) checkRights(p place.Process) error {
	if p.Role != place.RoleServer || p.Spec.Image == "" || p.Spec.URL != "" || h.opt.Plan.Simulated != "" || h.opt.Shown {
		return nil
	}
	err := h.list[0].launcher.Check(p.Spec.NewContainer())
	if !errors.Is(err, docker.ErrRefused) {
		return nil
	}
	return fmt.Errorf("%w (run knows --allow-privileged, --allow-host-mounts and --allow-docker-socket)", err)
}

// GPUs implements place.Place. A server with the machine for itself finds its GPUs.
func (h *hosts) GPUs(t place.Target, p place.Process) place.GPUs {
	if t.Alone {
		return place.GPUs{}
	}
	name := ""
	if at := h.at(p); !at.local {
		name = at.shown
	}
	return place.DeclaredGPUs(p.Spec, name)
}

// Assign implements place.Place.
func (h *hosts) Assign(t place.Target, p place.Process, gpus []string) (place.Slot, error) {
	at := h.at(p)
	s := place.Slot{Spec: p.Spec, Launcher: at.launcher, Self: place.Self{Program: docker.SimulatorProgram, Image: h.simulator}}
	if p.Role != place.RoleServer {
		if !at.local {
			s.Host = at.address
		}
		return s, nil
	}
	s.Spec = place.WithGPUs(s.Spec, gpus)
	reached := together(t, p)
	if reached {
		s.Spec = place.OnHostNetwork(s.Spec)
	}
	if c := s.Spec.Container; !at.local && (reached || c != nil && c.Network == steps.NetworkHost) {
		s.Spec.Listen = place.AnyAddress
	}
	if s.Spec.ListenHost() != place.Loopback {
		s.Host = at.address
	}
	return s, nil
}

// each calls do for every host concurrently, with its number.
func (h *hosts) each(do func(i int, at *host) error) error {
	errs := make([]error, len(h.list))
	var all sync.WaitGroup
	for i, at := range h.list {
		all.Go(func() { errs[i] = do(i, at) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Preflight implements place.Place. It fails if a daemon is unreachable, and prepares what all launches need.
func (h *hosts) Preflight(ctx context.Context) error {
	if err := h.each(func(_ int, at *host) error { return at.open(ctx, h.opt.Spawner, h.opt.Environ) }); err != nil {
		return err
	}
	if h.opt.Plan.Simulated != "" {
		if err := h.buildSimulator(ctx); err != nil {
			return fmt.Errorf("--simulate=container: %w", err)
		}
	} else if err := h.compare(ctx); err != nil {
		return fmt.Errorf("looking at the hosts of the docker block: %w", err)
	}
	if h.opt.Resumed {
		return h.removeLeft(ctx)
	}
	return h.warnOfLeft(ctx)
}

// buildSimulator builds the image of this program on all hosts.
func (h *hosts) buildSimulator(ctx context.Context) error {
	image := make(chan string, len(h.list))
	err := h.each(func(_ int, at *host) error {
		ref, err := docker.SimulatorImage(ctx, at.url, h.opt.Self)
		image <- ref // the name is the hash of the program, so equal everywhere
		return err
	})
	h.simulator = <-image
	return err
}

// Close implements place.Place. It closes the connections to the hosts.
func (h *hosts) Close(context.Context) error {
	return h.each(func(_ int, at *host) error { return at.close() })
}

// leftovers calls do for each host, and returns all leftovers.
func (h *hosts) leftovers(do func(*host) ([]docker.Leftover, error)) ([]docker.Leftover, error) {
	found := make([][]docker.Leftover, len(h.list))
	err := h.each(func(i int, at *host) (err error) {
		found[i], err = do(at)
		return err
	})
	var all []docker.Leftover
	for _, f := range found {
		all = append(all, f...)
	}
	return all, err
}

// removeLeft removes what a killed part of this run left.
func (h *hosts) removeLeft(ctx context.Context) error {
	removed, err := h.leftovers(func(at *host) ([]docker.Leftover, error) {
		return docker.Cleanup(ctx, at.url, docker.Filter{RunID: h.opt.RunID})
	})
	for _, l := range removed {
		h.opt.Warn(fmt.Sprintf("%s %s, left by the interrupted run, was removed", l.Kind, l.Name))
	}
	if err != nil {
		return fmt.Errorf("a container that the interrupted run left cannot be removed: %w", err)
	}
	return nil
}

// warnOfLeft warns of containers that killed runs left or that outlived their deadline: they may hold GPUs.
func (h *hosts) warnOfLeft(ctx context.Context) error {
	left, err := h.leftovers(func(at *host) ([]docker.Leftover, error) {
		return docker.Leftovers(ctx, at.url, docker.Filter{Expired: h.opt.Now(), Gone: spawn.Gone})
	})
	if len(left) > 0 {
		h.opt.Warn(fmt.Sprintf("killed runs have left %d containers, networks and volumes, for example %s; `pipeline cleanup` removes them",
			len(left), left[0].Name))
	}
	return err
}

// Lane implements place.Place. A lane is a part of the hosts.
func (h *hosts) Lane(lane int) *place.Lane {
	m := h.opt.Plan.Machines
	if m == nil {
		return nil
	}
	part := *h
	part.list = h.list[lane*m.Width : (lane+1)*m.Width]
	names := make([]string, len(part.list))
	for i, at := range part.list {
		names[i] = at.shown
	}
	return &place.Lane{Place: &part, Nodes: strings.Join(names, ",")}
}

// Here implements place.Place.
func (h *hosts) Here(p place.Process) bool {
	block := h.opt.Plan.Config.Settings.Docker
	if h.opt.Plan.Machines != nil {
		return !slices.ContainsFunc(block.Hosts, steps.DockerHost.Elsewhere)
	}
	if block != nil && p.Spec.Node < len(block.Hosts) {
		return !block.Hosts[p.Spec.Node].Elsewhere()
	}
	return docker.IsLocal(docker.HostFromEnv(h.opt.Getenv))
}

// Needs implements place.Place. The GPUs of a daemon on another machine are invisible from here.
func (h *hosts) Needs(n doctor.Needs) doctor.Needs {
	if h.opt.Plan.Config.Settings.Docker == nil && !docker.IsLocal(docker.HostFromEnv(h.opt.Getenv)) {
		for i := range n.Targets {
			n.Targets[i].GPUs = nil
		}
	}
	return n
}

// Daemon implements place.Place. For a daemon behind ssh, it uses the forwarded socket as DOCKER_HOST.
func (h *hosts) Daemon() place.Daemon {
	return Inspect(func(name string) string {
		if at := h.list[0]; name == "DOCKER_HOST" && at.tunnel != nil {
			return at.url
		}
		return h.opt.Getenv(name)
	})
}
