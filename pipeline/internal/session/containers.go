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
	"sync"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
)

// The values of plan.Plan.Simulated.
const (
	SimulateProcess   = "process"
	SimulateContainer = "container"
	// SimulateVirtual carries the plan out in virtual time, without processes.
	SimulateVirtual = result.SimulatedVirtual
)

// A container may live as long as the plan may take, or a day, and a while for stopping it.
const (
	defaultLifetime = 24 * time.Hour
	stopLifetime    = 15 * time.Minute
)

// containers is what a session has of Docker daemons, which are not asked for anything
// before the preflight.
type containers struct {
	// hosts by their number: those of the docker block, else the one of DOCKER_HOST.
	hosts []*dockerHost
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
	c := &containers{hosts: dockerHosts(opt.Config.Settings.Docker, dir, runID, getenv)}
	for _, h := range c.hosts {
		h.launcher, err = docker.New(docker.Options{
			Host: h.url, Address: h.address, RunID: runID, Deadline: opt.Now().Add(lifetime + stopLifetime), Owner: spawn.Owner(),
			Dir: dir, Allow: opt.Allow, Credentials: learning(opt.Redactor, registryCredentials(getenv)), Log: log,
		})
		if err != nil {
			return nil, err
		}
		h.address, h.local = h.launcher.Address(), h.launcher.Local()
	}
	return c, nil
}

// host of a node: nodes have a meaning only where the docker block names hosts. It is nil
// where there are none.
func (c *containers) host(node int) *dockerHost {
	switch {
	case c == nil || len(c.hosts) == 0:
		return nil
	case len(c.hosts) == 1:
		return c.hosts[0]
	}
	return c.hosts[node]
}

// getenv is an environment whose DOCKER_HOST is the socket that a daemon behind ssh is
// forwarded to.
func (c *containers) getenv(getenv func(string) string) func(string) string {
	return func(name string) string {
		if h := c.host(0); name == "DOCKER_HOST" && h != nil && h.tunnel != nil {
			return h.url
		}
		return getenv(name)
	}
}

// each does something at every host, by its number, at the same time.
func (c *containers) each(do func(i int, h *dockerHost) error) error {
	errs := make([]error, len(c.hosts))
	var all sync.WaitGroup
	for i, h := range c.hosts {
		all.Go(func() { errs[i] = do(i, h) })
	}
	all.Wait()
	return errors.Join(errs...)
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
	err := c.hosts[0].launcher.Check(spec.NewContainer())
	if !errors.Is(err, docker.ErrRefused) {
		return nil
	}
	return fmt.Errorf("%w (run knows --allow-privileged, --allow-host-mounts and --allow-docker-socket)", err)
}

// preflight fails if a daemon cannot be reached, and gets ready what all launches need.
func (c *containers) preflight(ctx context.Context, opt Options, spawner steps.Spawner) error {
	if err := c.each(func(_ int, h *dockerHost) error { return h.open(ctx, spawner, opt.Environ) }); err != nil {
		return err
	}
	if opt.Plan.Simulated != SimulateContainer {
		return nil
	}
	image := make(chan string, len(c.hosts))
	err := c.each(func(_ int, h *dockerHost) error {
		ref, err := docker.SimulatorImage(ctx, h.url, opt.Self)
		image <- ref // its name is the hash of the program: the same everywhere
		return err
	})
	if err != nil {
		return fmt.Errorf("--simulate=container: %w", err)
	}
	c.simulator = <-image
	return nil
}

// close ends what reaches the hosts.
func (c *containers) close() error {
	if c == nil {
		return nil
	}
	return c.each(func(_ int, h *dockerHost) error { return h.close() })
}

// leftovers does something with what is left at each host, and returns all that it found.
func (c *containers) leftovers(do func(*dockerHost) ([]docker.Leftover, error)) ([]docker.Leftover, error) {
	found := make([][]docker.Leftover, len(c.hosts))
	err := c.each(func(i int, h *dockerHost) (err error) {
		found[i], err = do(h)
		return err
	})
	return slices.Concat(found...), err
}

// removeLeft removes what an earlier part of the run, which was killed, has left.
func (c *containers) removeLeft(ctx context.Context, runID string) ([]docker.Leftover, error) {
	removed, err := c.leftovers(func(h *dockerHost) ([]docker.Leftover, error) {
		return docker.Cleanup(ctx, h.url, docker.Filter{RunID: runID})
	})
	if err != nil {
		return removed, fmt.Errorf("a container that the interrupted run left cannot be removed: %w", err)
	}
	return removed, nil
}

// left is what other runs have left that were killed, and what has outlived its deadline.
func (c *containers) left(ctx context.Context, now time.Time) ([]docker.Leftover, error) {
	return c.leftovers(func(h *dockerHost) ([]docker.Leftover, error) {
		return docker.Leftovers(ctx, h.url, docker.Filter{Expired: now, Gone: spawn.Gone})
	})
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

// learning has credentials masked from the moment that they are read.
func learning(redact *event.Redactor, find func(string) (docker.Credentials, error)) func(string) (docker.Credentials, error) {
	return func(registry string) (docker.Credentials, error) {
		c, err := find(registry)
		redact.Learn(c.Password, c.IdentityToken)
		return c, err
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
