package doctor

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/steps"
)

// Needs is what a pipeline asks of its machine.
type Needs struct {
	// File is set if a pipeline was given; without one everything is optional.
	File bool
	// Targets that are launched here, by address.
	Targets []Target
	// Programs that servers and steps are started with, as the file writes them.
	Programs []string
	// Images of containers, with their policies.
	Images []Image
	// Ports that the file fixes.
	Ports []int
	// RDMA is set if a transfer declares it, RDMADevices are the devices that it names.
	RDMA        bool
	RDMADevices []string
	// LockedMemory is set if a process of this machine, and no container with a limit of
	// its own, registers memory with RDMA devices.
	LockedMemory bool

	docker *steps.DockerSpec // the hosts that containers are placed on, nil for one
	pods   bool              // containers are Pods of a cluster
}

// Image of a container.
type Image struct {
	Name string
	// Never is set if it is not pulled.
	Never bool
}

// Target is a server or a deployment.
type Target struct {
	Addr string
	GPUs []Request
}

// NeedsOf lists what the targets with some addresses need, all of them if there are none.
// What is known only after a step is left out.
func NeedsOf(cfg *lang.Config, addrs []string) Needs {
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

func (n *Needs) deployment(d *lang.Deployment) {
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

// server notes what a server needs, and returns the GPUs it asks for.
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
		}
		return requests(spec)
	}
	if n.elsewhere(spec) {
		return nil
	}
	image := Image{Name: spec.Image, Never: spec.Container != nil && spec.Container.Pull == steps.PullNever}
	if !lang.IsLate(spec.Image) && !slices.Contains(n.Images, image) {
		n.Images = append(n.Images, image)
	}
	return requests(spec)
}

// elsewhere reports whether the container of a server runs on another machine, whose images
// and GPUs are not to be seen from here.
func (n *Needs) elsewhere(spec steps.ServerSpec) bool {
	if n.docker == nil || spec.Node >= len(n.docker.Hosts) {
		return false
	}
	return n.docker.Hosts[spec.Node].Elsewhere()
}

// own returns the program of a server that has a folder of its own.
func own(name, folder string) string {
	if folder != "" && strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		return filepath.Join(folder, name)
	}
	return name
}

func (n *Needs) program(name string) {
	if name != "" && !lang.IsLate(name) && !slices.Contains(n.Programs, name) {
		n.Programs = append(n.Programs, name)
	}
}

// Containers reports whether a Docker daemon is needed.
func (n Needs) Containers() bool { return len(n.Images) > 0 }

// WantsGPUs reports whether anything is known to need a GPU.
func (n Needs) WantsGPUs() bool {
	return slices.ContainsFunc(n.Targets, func(t Target) bool {
		return slices.ContainsFunc(t.GPUs, func(r Request) bool { return !r.Maybe })
	})
}

// MayUseGPUs reports whether anything may use a GPU if there is one.
func (n Needs) MayUseGPUs() bool {
	return slices.ContainsFunc(n.Targets, func(t Target) bool { return len(t.GPUs) > 0 })
}
