package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
)

// The values of plan.Plan.Simulated.
const (
	SimulateProcess   = "process"
	SimulateContainer = "container"
)

// A container may live as long as the plan may take, or a day, and a while for stopping it.
const (
	defaultLifetime = 24 * time.Hour
	stopLifetime    = 15 * time.Minute
)

// containers is what a session has of a Docker daemon, which is not asked for anything
// before the preflight.
type containers struct {
	host     string
	launcher *docker.Launcher
	// simulator is the image of simulated servers; the preflight builds it.
	simulator string
}

// newContainers returns nil where no target runs in a container.
func newContainers(opt Options, runID string, log *slog.Logger) (*containers, error) {
	if !needsContainers(opt) {
		return nil, nil
	}
	lifetime := defaultLifetime
	if opt.Plan.Timeout > 0 {
		lifetime = time.Duration(opt.Plan.Timeout * float64(time.Second))
	}
	dir, err := filepath.Abs(opt.Dir)
	if err != nil {
		return nil, err
	}
	getenv := lookup(opt.Environ)
	c := &containers{host: docker.HostFromEnv(getenv)}
	c.launcher, err = docker.New(docker.Options{
		Host: c.host, RunID: runID, Deadline: opt.Now().Add(lifetime + stopLifetime), Owner: spawn.Owner(),
		Dir: dir, Allow: opt.Allow, Credentials: registryCredentials(getenv), Log: log,
	})
	return c, err
}

func needsContainers(opt Options) bool {
	if onCluster(opt) {
		return false // its runtime starts images
	}
	for _, t := range opt.Plan.Targets {
		for _, server := range serversOf(opt.Config, t.Addr) {
			if inContainer(opt.Plan, server) {
				return true
			}
		}
		if d := deploymentAt(opt.Config, t.Addr); d != nil && opt.Plan.Simulated == "" && servicesInContainers(d) {
			return true
		}
	}
	return false
}

// servicesInContainers says whether a service of a deployment names an image. One without
// any takes its servers', and only if they have one.
func servicesInContainers(d *lang.Deployment) bool {
	return slices.ContainsFunc(d.Spec.Services, func(s steps.ServiceSpec) bool { return s.Image != "" })
}

func inContainer(p *plan.Plan, s *lang.Server) bool {
	if p.Simulated != "" {
		return p.Simulated == SimulateContainer && s.Spec.URL == ""
	}
	return s.Spec.Image != ""
}

// refused says why a container would get rights over the machine that the command line
// does not allow. What else is wrong with it shows when it is launched: steps may have
// made it right by then.
func (c *containers) refused(spec steps.ServerSpec) error {
	err := c.launcher.Check(spec.NewContainer())
	if !errors.Is(err, docker.ErrRefused) {
		return nil
	}
	return fmt.Errorf("%w (run knows --allow-privileged, --allow-host-mounts and --allow-docker-socket)", err)
}

// preflight fails if the daemon cannot be reached, and gets ready what all launches need.
func (c *containers) preflight(ctx context.Context, opt Options) error {
	if err := c.launcher.Preflight(ctx); err != nil {
		return err
	}
	if opt.Plan.Simulated != SimulateContainer {
		return nil
	}
	var err error
	if c.simulator, err = docker.SimulatorImage(ctx, c.host, opt.Self); err != nil {
		return fmt.Errorf("--simulate=container: %w", err)
	}
	return nil
}

// removeLeft removes what an earlier part of the run, which was killed, has left.
func (c *containers) removeLeft(ctx context.Context, runID string) ([]docker.Leftover, error) {
	removed, err := docker.Cleanup(ctx, c.host, docker.Filter{RunID: runID})
	if err != nil {
		return removed, fmt.Errorf("a container that the interrupted run left cannot be removed: %w", err)
	}
	return removed, nil
}

// left is what other runs have left that were killed, and what has outlived its deadline.
func (c *containers) left(ctx context.Context, now time.Time) ([]docker.Leftover, error) {
	return docker.Leftovers(ctx, c.host, docker.Filter{Expired: now, Gone: spawn.Gone})
}

// simulatedSpec is a server as a container of the simulator takes it: the engine's plain
// program in the simulator's image. Of the container block only the network remains, since
// the rest is about the engine's image and the machine's GPUs.
func (c *containers) simulatedSpec(spec steps.ServerSpec) steps.ServerSpec {
	own := &steps.ContainerSpec{Entrypoint: program(spec.Engine), Pull: steps.PullNever}
	if spec.Container != nil && spec.Container.Network == steps.NetworkHost {
		own.Network = steps.NetworkHost
	}
	spec = bare(spec)
	spec.Executable, spec.GPUs = nil, 0
	spec.Image, spec.Container = c.simulator, own
	return spec
}

// own is a container of this program's image, in the machine's own network.
func (c *containers) own() *steps.ContainerSpec {
	return &steps.ContainerSpec{Image: c.simulator, Pull: steps.PullNever, Network: steps.NetworkHost}
}

// lookup finds a variable of an environment; of several the last counts.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		value := ""
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				value = v
			}
		}
		return value
	}
}

// registryCredentials reads the file that docker login writes, when they are first asked for.
func registryCredentials(getenv func(string) string) func(string) (docker.Credentials, error) {
	return func(registry string) (docker.Credentials, error) {
		dir := getenv("DOCKER_CONFIG")
		if dir == "" {
			dir = filepath.Join(getenv("HOME"), ".docker")
		}
		f, err := os.Open(filepath.Join(dir, "config.json"))
		if errors.Is(err, fs.ErrNotExist) {
			return docker.Credentials{}, nil
		}
		if err != nil {
			return docker.Credentials{}, err
		}
		defer func() { _ = f.Close() }() // opened for reading
		find, err := docker.CredentialsFrom(f)
		if err != nil {
			return docker.Credentials{}, err
		}
		return find(registry)
	}
}
