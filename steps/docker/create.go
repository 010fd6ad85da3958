package docker

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	dc "github.com/ory/dockertest/v3/docker"
	"github.com/servegate/pipeline/steps"
)

// The labels of created objects.
const (
	// LabelRun is the ID of the run that created it.
	LabelRun = steps.LabelPrefix + "run"
	// LabelDeadline is the time, in RFC 3339 and UTC, after which it is a leftover.
	LabelDeadline = steps.LabelPrefix + "deadline"
	// LabelOwner identifies the owner, in a format that only the owner's program understands.
	LabelOwner = steps.LabelPrefix + "owner"
	// LabelServer is the address of the server in the pipeline file.
	LabelServer = steps.LabelPrefix + "server"
	// LabelImage is the image as written in the file.
	LabelImage = steps.LabelPrefix + "image"
	// LabelSimulator marks simulator images: the SHA-256 of the program.
	LabelSimulator = steps.LabelPrefix + "simulator"
)

// logLimits limits how much a server's log may take on the daemon's disk. Every daemon can read the json-file
// driver's logs back from the first byte.
func logLimits() dc.LogConfig {
	return dc.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "1g", "max-file": "2"}}
}

// createRequest is the body of a create request.
type createRequest struct {
	*dc.Config
	HostConfig hostConfig
}

// hostConfig adds the settings that dockertest's type lacks, named as in Docker's API v1.40.
type hostConfig struct {
	*dc.HostConfig
	DeviceRequests []deviceRequest `json:",omitempty"`
	Runtime        string          `json:",omitempty"`
}

// deviceRequest requests GPUs and CDI devices.
type deviceRequest struct {
	Driver       string     `json:",omitempty"`
	Count        int        `json:",omitempty"`
	DeviceIDs    []string   `json:",omitempty"`
	Capabilities [][]string `json:",omitempty"`
}

// createRequest converts a process into a create request. image is the ID to run.
func (l *Launcher) createRequest(p steps.Process, image string) (createRequest, error) {
	p = steps.FilesIn(p, filesDir)
	c := p.Container
	mounts, err := l.mounts(c)
	if err != nil {
		return createRequest{}, err
	}
	signal, grace := p.Stopping()
	host := &dc.HostConfig{
		NetworkMode: c.Network, IpcMode: c.IPC, PidMode: c.PID,
		ShmSize: c.ShmSize, Memory: c.Memory, CPUSetCPUs: c.CPUSet, CPUSetMEMs: c.MemSet,
		CapAdd: c.CapAdd, CapDrop: c.CapDrop, SecurityOpt: c.SecurityOpt, GroupAdd: c.GroupAdd,
		Privileged: c.Privileged, Init: !c.NoInit,
		Ulimits: ulimits(c.Ulimits), Devices: devices(c.Devices), Mounts: mounts, Tmpfs: c.Tmpfs,
		LogConfig: logLimits(), RestartPolicy: dc.NeverRestart(),
	}
	config := &dc.Config{
		Image: image, Cmd: p.Argv, Env: env(p.Env), User: c.User, WorkingDir: c.Workdir,
		Labels: l.labels(p), StopSignal: "SIG" + signal, StopTimeout: int(grace.Round(time.Second) / time.Second),
	}
	if !c.OwnEntrypoint {
		config.Entrypoint, config.Cmd = p.Argv[:1], p.Argv[1:]
	}
	if c.Network != steps.NetworkHost {
		port := dc.Port(strconv.Itoa(p.Port) + "/tcp")
		config.ExposedPorts = map[dc.Port]struct{}{port: {}}
		host.PortBindings = map[dc.Port][]dc.PortBinding{port: {{HostIP: l.daemon.address, HostPort: strconv.Itoa(p.Port)}}}
	}
	return createRequest{config, hostConfig{host, deviceRequests(c), c.Runtime}}, nil
}

// labels returns the file's labels of a container and ours; ours take precedence. They contain nothing of the
// environment, because docker ps shows labels.
func (l *Launcher) labels(p steps.Process) map[string]string {
	labels := maps.Clone(p.Container.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelRun] = l.opt.RunID
	labels[LabelServer] = p.Name
	if l.opt.Owner != "" {
		labels[LabelOwner] = l.opt.Owner
	}
	labels[LabelImage] = p.Container.Image
	if !l.opt.Deadline.IsZero() {
		labels[LabelDeadline] = l.opt.Deadline.UTC().Format(time.RFC3339)
	}
	return labels
}

// deviceRequests returns the same requests as docker run --gpus: the daemon chooses the driver.
func deviceRequests(c *steps.ContainerSpec) []deviceRequest {
	var out []deviceRequest
	if g := c.GPUs; g != nil && (len(g.IDs) > 0 || g.Count != 0) {
		r := deviceRequest{Capabilities: [][]string{{"gpu"}}, DeviceIDs: g.IDs}
		if len(g.IDs) == 0 {
			r.Count = g.Count
		}
		out = append(out, r)
	}
	if len(c.CDI) > 0 {
		out = append(out, deviceRequest{Driver: "cdi", DeviceIDs: c.CDI})
	}
	return out
}

func ulimits(limits []steps.Ulimit) []dc.ULimit {
	var out []dc.ULimit
	for _, u := range limits {
		out = append(out, dc.ULimit{Name: u.Name, Soft: u.Soft, Hard: u.Hard})
	}
	return out
}

// devices maps device nodes. The daemon expands a folder such as /dev/infiniband.
func devices(list []steps.ContainerDevice) []dc.Device {
	var out []dc.Device
	for _, d := range list {
		out = append(out, dc.Device{PathOnHost: d.Host, PathInContainer: d.Container, CgroupPermissions: d.Permissions})
	}
	return out
}

// mounts returns mounts, not binds: for a bind the daemon would create a missing folder, owned by root, and the
// server would find an empty cache.
func (l *Launcher) mounts(c *steps.ContainerSpec) ([]dc.HostMount, error) {
	var out []dc.HostMount
	for _, m := range c.Mounts {
		source, err := l.source(m)
		if err != nil {
			return nil, err
		}
		out = append(out, dc.HostMount{Type: "bind", Source: source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	for _, v := range c.Volumes {
		out = append(out, dc.HostMount{Type: "volume", Source: v.Name, Target: v.Target, ReadOnly: v.ReadOnly})
	}
	return out, nil
}

// source returns the absolute path of a mount's source.
func (l *Launcher) source(m steps.Mount) (string, error) {
	if filepath.IsAbs(m.Source) {
		return filepath.Clean(m.Source), nil
	}
	if !filepath.IsAbs(l.opt.Dir) {
		return "", fmt.Errorf("mount %s is relative, and nothing says to which folder; write an absolute path", m.Source)
	}
	return filepath.Join(l.opt.Dir, m.Source), nil
}

func env(vars []steps.EnvVar) []string {
	out := make([]string, len(vars))
	for i, e := range vars {
		out[i] = e.Name + "=" + e.Value
	}
	return out
}

// slug converts an address such as server.vllm.sut["base"] to a part of a container's name.
func slug(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	words = slices.DeleteFunc(words, func(w string) bool { return strings.Trim(w, "-_") == "" })
	const longest = 60
	s := strings.Join(words, ".")
	return s[:min(len(s), longest)]
}
