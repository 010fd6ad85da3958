package dockerhost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
)

// host is a daemon that runs containers.
type host struct {
	// shown is its name in the file or DOCKER_HOST.
	shown string
	// url is in the docker package's form. For a daemon behind ssh, it is the local socket that ssh forwards,
	// in dir.
	url, dir string
	// address is the address at which others reach its ports. local means that it is this machine.
	address string
	local   bool

	launcher *docker.Launcher
	tunnel   *docker.Tunnel
}

// hostsOf returns the hosts of a docker block, else the one of DOCKER_HOST. Folders are resolved against dir.
// run makes socket names unique.
func hostsOf(spec *steps.DockerSpec, dir, run string, getenv func(string) string) []*host {
	if spec == nil {
		return []*host{newHost(steps.DockerHost{URL: docker.HostFromEnv(getenv)}, "", run)}
	}
	var hosts []*host
	for i, s := range spec.Hosts {
		if s.Certs != "" && !filepath.IsAbs(s.Certs) {
			s.Certs = filepath.Join(dir, s.Certs)
		}
		hosts = append(hosts, newHost(s, s.Certs, fmt.Sprintf("%s-%d", run, i)))
	}
	return hosts
}

func newHost(spec steps.DockerHost, certs, name string) *host {
	h := &host{shown: spec.URL, url: spec.URL, address: spec.Address}
	if certs != "" {
		h.url += "?certs=" + url.QueryEscape(certs)
	}
	u, err := url.Parse(spec.URL)
	if err != nil || u.Scheme != "ssh" {
		return h // the docker package reports the error
	}
	if h.address == "" {
		h.address = u.Hostname()
	}
	h.dir = filepath.Join(socketBase(), socketDir+name)
	h.url = "unix://" + h.socket()
	return h
}

// socket returns the local socket that ssh forwards.
func (h *host) socket() string { return filepath.Join(h.dir, socketName) }

// shownHosts returns hosts for display that are not contacted; their addresses are those in the file.
func shownHosts(spec *steps.DockerSpec) []*host {
	if spec == nil {
		return []*host{{local: true, address: place.Loopback}}
	}
	var hosts []*host
	for _, h := range spec.Hosts {
		address := h.Reached()
		hosts = append(hosts, &host{shown: h.URL, address: cmp.Or(address, place.Loopback), local: address == ""})
	}
	return hosts
}

// open connects to the daemon.
func (h *host) open(ctx context.Context, spawner steps.Spawner, environ []string) error {
	if h.dir != "" && h.tunnel == nil {
		if err := h.forward(ctx, spawner, environ); err != nil {
			return fmt.Errorf("docker host %s: %w", h.shown, err)
		}
	}
	if h.launcher == nil {
		return nil
	}
	if err := h.launcher.Preflight(ctx); err != nil {
		return fmt.Errorf("docker host %s: %w", h.shown, err)
	}
	h.address, h.local = h.launcher.Address(), h.launcher.Local()
	return nil
}

// forward starts ssh. The folder is accessible to this user only, because access to the socket controls the
// daemon.
func (h *host) forward(ctx context.Context, spawner steps.Spawner, environ []string) error {
	if err := os.RemoveAll(h.dir); err != nil { // of a killed run with this ID
		return err
	}
	if err := os.Mkdir(h.dir, 0o700); err != nil {
		return err
	}
	var err error
	h.tunnel, err = docker.OpenTunnel(ctx, spawner, h.shown, h.socket(), sshEnv(spawn.Getenv(environ)))
	if err != nil {
		return errors.Join(err, os.RemoveAll(h.dir))
	}
	return nil
}

// sshEnv returns the variables that ssh needs in addition to every process's.
func sshEnv(getenv func(string) string) []steps.EnvVar {
	var env []steps.EnvVar
	if agent := getenv("SSH_AUTH_SOCK"); agent != "" {
		env = append(env, steps.EnvVar{Name: "SSH_AUTH_SOCK", Value: agent})
	}
	return env
}

func (h *host) close() error {
	if h.tunnel == nil {
		return nil
	}
	err := h.tunnel.Close()
	h.tunnel = nil
	return errors.Join(err, os.RemoveAll(h.dir))
}

// reach makes a daemon reachable for commands other than run, given the url of a host block, with TLS as
// ?certs=FOLDER. done ends the connection.
func reach(ctx context.Context, spawner steps.Spawner, environ []string, host string) (reached string, done func() error, err error) {
	plain, certs, _ := strings.Cut(host, "?certs=")
	if certs, err = url.QueryUnescape(certs); err != nil {
		return "", nil, fmt.Errorf("docker host %q: %w", host, err)
	}
	if problem := (steps.DockerHost{URL: plain, Certs: certs}).Problem(); problem != "" {
		return "", nil, fmt.Errorf("docker host %q: %s", host, problem)
	}
	h := newHost(steps.DockerHost{URL: plain}, certs, ownName())
	return h.url, h.close, h.open(ctx, spawner, environ)
}

// ownName returns a unique socket name for programs other than runs.
func ownName() string { return fmt.Sprintf("pid%d", os.Getpid()) }

// socketBase returns the folder for sockets. The path of a socket is limited to about a hundred bytes, which a
// temporary folder may exceed.
func socketBase() string {
	if dir := os.TempDir(); len(dir) <= longestBase {
		return dir
	}
	return "/tmp"
}

// longestBase leaves room for the name of a run.
const longestBase = 40

// removeSockets removes the folders of unused sockets, left by a killed program that reached daemons behind
// ssh.
func removeSockets(base string) error {
	dirs, err := filepath.Glob(filepath.Join(base, socketDir+"*"))
	errs := []error{err}
	for _, dir := range dirs {
		socket := filepath.Join(dir, socketName)
		if conn, err := net.Dial("unix", socket); err == nil {
			errs = append(errs, conn.Close())
			continue
		}
		_, err := os.Stat(socket)
		if info, _ := os.Stat(dir); err != nil && info != nil && time.Since(info.ModTime()) < socketAge {
			continue // ssh may be about to listen
		}
		errs = append(errs, os.RemoveAll(dir))
	}
	return errors.Join(errs...)
}

// The folder and the name of a forwarded socket, and the longest time that ssh takes to create it.
const (
	socketDir  = "pipeline-ssh-"
	socketName = "docker.sock"
	socketAge  = time.Minute
)

// ReachedEnv returns an environment whose DOCKER_HOST every command can use: for a daemon behind ssh, the
// forwarded socket. done ends the forwarding.
func ReachedEnv(ctx context.Context, spawner steps.Spawner, environ []string,
	getenv func(string) string) (reached func(string) string, done func(), err error) {
	host := docker.HostFromEnv(getenv)
	if !strings.HasPrefix(host, "ssh:") {
		return getenv, func() {}, nil
	}
	socket, end, err := reach(ctx, spawner, environ, host)
	if err != nil {
		return nil, nil, err
	}
	return func(name string) string {
		if name == "DOCKER_HOST" {
			return socket
		}
		return getenv(name)
	}, func() { _ = end() }, nil // the ssh process ends with this program
}
