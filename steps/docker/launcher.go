package docker

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	dc "github.com/ory/dockertest/v3/docker"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/process"
)

// Options configure a launcher. Only RunID is required; other zero values mean the defaults.
type Options struct {
	// Host of the daemon: unix:///PATH, tcp://HOST:PORT, or tcp://HOST:PORT?certs=FOLDER for TLS with ca.pem,
	// cert.pem and key.pem; [DefaultHost] unless set. See [HostFromEnv].
	Host string
	// Address at which the ports of containers are reached, "" for the host's. The address of another machine
	// means that the daemon runs there, even if its socket is local.
	Address string
	// RunID and Deadline label all created objects, for [Cleanup].
	RunID    string
	Deadline time.Time
	// Owner is a further label, the argument of [Filter].Gone; "" for none.
	Owner string
	// Dir is the folder against which relative mounts are resolved.
	Dir string
	// Allow lists the rights over the machine that containers may get.
	Allow Allow
	// Credentials returns the credentials of a registry, zero for none.
	Credentials func(registry string) (Credentials, error)
	// Log receives messages about pulls and background errors.
	Log *slog.Logger

	// KillWait is how long a killed container may take to vanish; 30 s, because a driver needs time to free the
	// memory of eight GPUs.
	KillWait time.Duration
	// PortWait is how long the port may stay in use after the container has ended; 5 s.
	PortWait time.Duration
	// Poll is the interval between checks; 50 ms.
	Poll time.Duration
	// Lost is how long the daemon may be unreachable before a server counts as ended; 1 min.
	Lost time.Duration
}

// Launcher starts servers as containers. It is safe for concurrent use.
type Launcher struct {
	daemon *daemon
	opt    Options
	images images
	random func() string
}

var _ steps.Launcher = (*Launcher)(nil)

// New returns a launcher for a daemon. It fails if the host is invalid. It does not contact the daemon;
// [Launcher.Preflight] and Start do.
func New(opt Options) (*Launcher, error) {
	if opt.RunID == "" {
		return nil, errors.New("docker: a run ID is needed, so that leftovers can be found")
	}
	opt.KillWait = cmp.Or(opt.KillWait, 30*time.Second)
	opt.PortWait = cmp.Or(opt.PortWait, 5*time.Second)
	opt.Poll = cmp.Or(opt.Poll, 50*time.Millisecond)
	opt.Lost = cmp.Or(opt.Lost, time.Minute)
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	d, err := connect(opt.Host)
	if err != nil {
		return nil, err
	}
	if opt.Address != "" {
		d.address, d.local = opt.Address, isLoopback(opt.Address)
	}
	return &Launcher{daemon: d, opt: opt, random: randomName}, nil
}

func randomName() string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Capabilities implements steps.Launcher.
func (l *Launcher) Capabilities() steps.LauncherCapabilities {
	return steps.LauncherCapabilities{Prepare: l.Prepare}
}

// Address returns the address at which the ports of containers are reached: loopback, or the daemon's machine.
func (l *Launcher) Address() string { return l.daemon.address }

// Local reports whether the daemon runs on this machine.
func (l *Launcher) Local() bool { return l.daemon.local }

// Preflight checks, before anything starts, that the daemon answers and that it may run the containers.
func (l *Launcher) Preflight(ctx context.Context, containers ...*steps.ContainerSpec) error {
	errs := []error{l.daemon.ping(ctx), l.resolveAddress()}
	for _, c := range containers {
		errs = append(errs, l.Check(c))
	}
	return errors.Join(errs...)
}

// resolveAddress resolves the name of the daemon's machine. Ports are published on addresses, and some
// connectors take only addresses.
func (l *Launcher) resolveAddress() error {
	if l.opt.Address == "" {
		return nil
	}
	address, local, err := reach(l.opt.Address)
	if err != nil {
		return fmt.Errorf("%w; set address to one that resolves here", err)
	}
	l.daemon.address, l.daemon.local = address, local
	return nil
}

// Check returns why a container would be refused, without contacting a daemon.
func (l *Launcher) Check(c *steps.ContainerSpec) error {
	return errors.Join(l.opt.Allow.check(c), l.checkMounts(c))
}

// Prepare resolves the image of p's container, and pulls it if needed.
func (l *Launcher) Prepare(ctx context.Context, p steps.Process) error {
	if err := l.checkProcess(p); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	if _, err := l.resolve(ctx, p.Container); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}

// removeWait is the timeout for removing a container, including one left by a failed start.
const removeWait = 30 * time.Second

// createWait is the timeout of the create request, which does not pull.
const createWait = 2 * time.Minute

// Start runs p's container and copies its output to log from the first byte. It pulls the image if needed. It
// fails if another process listens on the port. If it fails or ctx ends, it removes what it created.
func (l *Launcher) Start(ctx context.Context, p steps.Process, log io.Writer) (steps.Server, error) {
	server, err := l.start(ctx, p, log)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Name, err)
	}
	return server, nil
}

func (l *Launcher) start(ctx context.Context, p steps.Process, log io.Writer) (*Server, error) {
	if err := l.checkProcess(p); err != nil {
		return nil, err
	}
	if err := l.daemon.ping(ctx); err != nil {
		return nil, err
	}
	image, err := l.resolve(ctx, p.Container)
	if err != nil {
		return nil, err
	}
	if err := l.portFree(ctx, p.Port); err != nil {
		return nil, err
	}
	id, err := l.create(ctx, p, image.ID)
	if err != nil {
		return nil, err
	}
	if err := l.upload(ctx, id, p.Files); err != nil {
		return nil, errors.Join(err, l.discard(id))
	}
	if err := l.daemon.pool.Client.StartContainerWithContext(id, nil, ctx); err != nil {
		return nil, errors.Join(explain(err), l.discard(id))
	}
	return l.watch(p, image, id, log), nil
}

func (l *Launcher) checkProcess(p steps.Process) error {
	switch {
	case p.Container == nil || p.Container.Image == "":
		return errors.New("it has no image and cannot run as a container; use the process launcher")
	case p.Port <= 0 || p.Port > 65535:
		return fmt.Errorf("port %d is not a port; take one with process.Ports", p.Port)
	case len(p.Argv) == 0 && !p.Container.OwnEntrypoint:
		return errors.New("it has no command line")
	case !l.daemon.local && p.Container.Network == steps.NetworkHost && isLoopback(p.Host):
		return fmt.Errorf("it would listen on %s of the machine at %s, which is unreachable from this machine; leave out network = %q", p.Host,
			l.daemon.address, steps.NetworkHost)
	case p.Container.Network != steps.NetworkHost && isLoopback(p.Host):
		return fmt.Errorf("it would listen on %s of its own network, where it cannot be reached; render it for ServerSpec.ListenHost", p.Host)
	}
	return l.Check(p.Container)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// create creates the container. The request does not end with ctx, because the daemon could still create the
// container, with an ID unknown to us.
func (l *Launcher) create(ctx context.Context, p steps.Process, image string) (string, error) {
	request, err := l.createRequest(p, image)
	if err != nil {
		return "", err
	}
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), createWait)
	defer cancel()
	name := "pipeline-" + slug(p.Name) + "-" + l.random()
	var made struct {
		ID string `json:"Id"`
	}
	if err := l.daemon.ask(detached, http.MethodPost, "/containers/create", url.Values{"name": {name}}, request, &made); err != nil {
		// The response may be lost although the container exists.
		return "", errors.Join(explain(err), l.discard(name))
	}
	if err := ctx.Err(); err != nil {
		return "", errors.Join(err, l.discard(made.ID))
	}
	return made.ID, nil
}

// discard removes the container of a failed start.
func (l *Launcher) discard(id string) error {
	ctx, cancel := context.WithTimeout(context.Background(), removeWait)
	defer cancel()
	if err := l.daemon.remove(ctx, id, l.opt.Poll); err != nil {
		return fmt.Errorf("removing the container: %w", err)
	}
	return nil
}

// remove removes a container by force, with its anonymous volumes, and waits until the daemon no longer knows
// it. A container that does not exist is not an error.
func (d *daemon) remove(ctx context.Context, id string, poll time.Duration) error {
	for {
		err := d.pool.Client.RemoveContainer(dc.RemoveContainerOptions{ID: id, Force: true, RemoveVolumes: true, Context: ctx})
		switch status(err) {
		case http.StatusNotFound:
			return nil
		case http.StatusConflict: // another client removes it
		default:
			if err != nil {
				return err
			}
		}
		if err := steps.Sleep(ctx, poll); err != nil {
			return fmt.Errorf("container %s is still there: %w; remove it with docker rm --force", id, err)
		}
	}
}

// portFree fails if another process listens on the server's port, because that process would answer in the
// server's place.
func (l *Launcher) portFree(ctx context.Context, port int) error {
	taken, err := l.listening(ctx, port)
	if taken {
		return fmt.Errorf("%w: %s; stop that program or set another port", process.ErrPortInUse, l.hostPort(port))
	}
	return err
}

// listening reports whether the port is in use. It binds the port on this machine, and connects to it on
// another.
func (l *Launcher) listening(ctx context.Context, port int) (bool, error) {
	if l.daemon.local {
		err := process.Probe(l.hostPort(port))
		if errors.Is(err, syscall.EADDRINUSE) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("cannot listen on %s: %w", l.hostPort(port), err)
		}
		return false, nil
	}
	dialer := net.Dialer{Timeout: 2 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", l.hostPort(port))
	if err != nil {
		return false, nil //nolint:nilerr // nobody answers: nobody listens
	}
	return true, conn.Close()
}

func (l *Launcher) hostPort(port int) string {
	return net.JoinHostPort(l.daemon.address, strconv.Itoa(port))
}

// explain adds advice to the daemon's errors.
func explain(err error) error {
	for _, known := range explanations {
		if strings.Contains(err.Error(), known.text) {
			if known.is != nil {
				return fmt.Errorf("%w: %w", known.is, err)
			}
			return fmt.Errorf("%w; %s", err, known.hint)
		}
	}
	return err
}

// explanations covers messages of Docker 20.10 to 29.
var explanations = []struct {
	text, hint string
	is         error
}{
	{text: "port is already allocated", is: process.ErrPortInUse},
	{text: "address already in use", is: process.ErrPortInUse},
	{text: "could not select device driver",
		hint: "the daemon has no driver for GPUs: install the NVIDIA container toolkit, run nvidia-ctk runtime configure, " +
			"and restart the daemon"},
	{text: "unresolvable CDI devices",
		hint: "the daemon does not know the device: nvidia-ctk cdi list shows the names, nvidia-ctk cdi generate makes them"},
	{text: "nvidia-container-cli", hint: "the driver refused: see whether nvidia-smi works on the machine and lists the GPU"},
	{text: "error setting rlimit", hint: "the daemon may not raise limits itself: raise LimitMEMLOCK of its service, or leave the limit out"},
	{text: "docker-init", hint: "the daemon has no init program: install tini, or set init = false in the container block"},
	{text: "unknown or invalid runtime name", hint: "docker info lists the runtimes that the daemon has"},
	{text: "bind source path does not exist", hint: "make the folder first"},
}
