package doctor

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
)

// Needs lists what a pipeline needs of its machine.
type Needs struct {
	// File means that a pipeline was given; without one, everything is optional.
	File bool
	// Targets that are launched here.
	Targets []Target
	// Programs of servers and steps, as written in the file.
	Programs []string
	// Images of containers, with their pull policies.
	Images []Image
	// Models that servers of this machine load.
	Models []Model
	// Ports set in the file.
	Ports []int
	// RDMA means that a transfer declares RDMA; RDMADevices lists the devices it names.
	RDMA        bool
	RDMADevices []string
	// LockedMemory means that a process on this machine registers memory with RDMA devices. A container has its
	// own limit and does not count.
	LockedMemory bool

	docker *steps.DockerSpec // the hosts of containers, nil for one
	pods   bool              // containers are Pods of a cluster
}

// Image is the image of a container.
type Image struct {
	Name string
	// Never means that it must not be pulled.
	Never bool
}

// Target is a server or a deployment.
type Target struct {
	Addr string
	GPUs []Request
}

// NeedsOf lists the needs of the targets at addrs, or of all targets if empty. It omits what only a step
// determines.
func NeedsOf(cfg *config.Config, addrs []string) Needs {
	n := Needs{File: true, docker: cfg.Settings.Docker, pods: cfg.Settings.Kubernetes != nil}
	wanted := func(addr string) bool { return len(addrs) == 0 || slices.Contains(addrs, addr) }
	members := map[string]bool{}
	for _, d := range cfg.Deployments {
		for _, s := range d.Servers {
			members[s.Addr] = true
		}
		if wanted(d.Addr) {
			n.deployment(d)
		}
	}
	for _, s := range cfg.Servers {
		if wanted(s.Addr) && !members[s.Addr] {
			n.Targets = append(n.Targets, Target{Addr: s.Addr, GPUs: n.server(s.Spec)})
		}
	}
	for _, s := range cfg.Steps {
		if argv, err := s.Object.Texts("command"); err == nil && s.Kind.Name == "exec" && len(argv) > 0 {
			n.program(argv[0])
		}
	}
	return n
}

func (n *Needs) deployment(d *config.Deployment) {
	t := Target{Addr: d.Addr}
	processes := false
	for _, s := range d.Servers {
		t.GPUs = append(t.GPUs, n.server(s.Spec)...)
		processes = processes || s.Spec.Image == "" && s.Spec.URL == ""
	}
	n.Targets = append(n.Targets, t)
	if d.Transfer == nil || d.Transfer.Object.Text("transport") != "rdma" || n.pods {
		return
	}
	n.RDMA = true
	n.LockedMemory = n.LockedMemory || processes
	if devices, err := d.Transfer.Object.Texts("devices"); err == nil {
		for _, name := range devices {
			name, _, _ = strings.Cut(name, ":") // mlx5_0:1 names a port
			if !slices.Contains(n.RDMADevices, name) {
				n.RDMADevices = append(n.RDMADevices, name)
			}
		}
	}
}

// server adds the needs of a server, and returns its GPU requests.
func (n *Needs) server(spec steps.ServerSpec) []Request {
	if spec.URL != "" || n.pods && spec.Image != "" {
		return nil
	}
	if spec.Port != 0 && !slices.Contains(n.Ports, spec.Port) {
		n.Ports = append(n.Ports, spec.Port)
	}
	if spec.Image == "" {
		if len(spec.Executable) > 0 {
			n.program(own(spec.Executable[0], spec.Folder))
			n.model(spec)
		}
		return requests(spec)
	}
	if n.elsewhere(spec) {
		return nil
	}
	image := Image{Name: spec.Image, Never: spec.Container != nil && spec.Container.Pull == steps.PullNever}
	if !config.IsLate(spec.Image) && !slices.Contains(n.Images, image) {
		n.Images = append(n.Images, image)
	}
	n.model(spec)
	return requests(spec)
}

// elsewhere reports whether a server's container runs on another machine, whose images and GPUs are invisible
// from here.
func (n *Needs) elsewhere(spec steps.ServerSpec) bool {
	if n.docker == nil || spec.Node >= len(n.docker.Hosts) {
		return false
	}
	return n.docker.Hosts[spec.Node].Elsewhere()
}

// own returns the program of a server, resolved against the server's folder.
func own(name, folder string) string {
	if folder != "" && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		return filepath.Join(folder, name)
	}
	return name
}

func (n *Needs) program(name string) {
	if name != "" && !config.IsLate(name) && !slices.Contains(n.Programs, name) {
		n.Programs = append(n.Programs, name)
	}
}

// Containers reports whether a Docker daemon is needed.
func (n Needs) Containers() bool { return len(n.Images) > 0 }

// WantsGPUs reports whether a target certainly needs a GPU.
func (n Needs) WantsGPUs() bool {
	return slices.ContainsFunc(n.Targets, func(t Target) bool {
		return slices.ContainsFunc(t.GPUs, func(r Request) bool { return !r.Maybe })
	})
}

// MayUseGPUs reports whether a target may use a GPU.
func (n Needs) MayUseGPUs() bool {
	return slices.ContainsFunc(n.Targets, func(t Target) bool { return len(t.GPUs) > 0 })
}
