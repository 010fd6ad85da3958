package dockerhost

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/doctor"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
)

// examine checks that the Docker hosts of a file are reachable and have what its servers need. Without a docker
// block there are no checks.
func examine(ctx context.Context, o place.Options) []doctor.Check {
	spec := o.Plan.Config.Settings.Docker
	if spec == nil {
		return nil
	}
	wanted := wantedOf(o.Plan.Config, len(spec.Hosts))
	var out []doctor.Check
	for i, h := range hostsOf(spec, o.Plan.Config.Folder, ownName(), o.Getenv) {
		out = append(out, h.examine(ctx, i, wanted[i], o.Spawner, o.Environ)...)
	}
	return out
}

// wants lists what servers need of a host.
type wants struct {
	images map[string]bool // maps to whether a server must not pull it
	gpus   bool
}

// wantedOf lists what the servers of a file need of each host. If repeats take turns on machines, all machines
// need the same.
func wantedOf(cfg *config.Config, hosts int) []wants {
	out := make([]wants, hosts)
	for i := range out {
		out[i].images = map[string]bool{}
	}
	machine := hosts
	if cfg.Settings.Machines != nil {
		machine = 1
		for _, s := range cfg.Servers {
			machine = max(machine, s.Spec.Node+max(s.Spec.Nodes, 1))
		}
	}
	for _, s := range cfg.Servers {
		for _, p := range place.Spread([]steps.Member{{Spec: s.Spec}}) {
			if p.Spec.Image == "" || p.Spec.Node >= hosts {
				continue
			}
			c := p.Spec.NewContainer()
			for first := 0; first+machine <= hosts; first += machine {
				w := &out[first+p.Spec.Node]
				w.images[p.Spec.Image] = w.images[p.Spec.Image] || c.Pull == steps.PullNever
				w.gpus = w.gpus || c.GPUs != nil
			}
		}
	}
	return out
}

// examine checks one host.
func (h *host) examine(ctx context.Context, number int, want wants, spawner steps.Spawner, environ []string) []doctor.Check {
	first := doctor.Check{Name: fmt.Sprintf("Docker host %d", number), Status: doctor.OK}
	err := h.open(ctx, spawner, environ)
	defer func() { _ = h.close() }()
	var info docker.Info
	if err == nil {
		info, err = docker.Inspect(ctx, h.url)
	}
	if err != nil {
		first.Status, first.Found, first.Fix = doctor.Missing, err.Error(), "see that "+h.shown+" is right and that this machine gets in"
		return []doctor.Check{first}
	}
	first.Found = fmt.Sprintf("version %s at %s", info.Version, h.shown)
	out := []doctor.Check{first}
	for _, image := range slices.Sorted(maps.Keys(want.images)) {
		has, err := docker.HasImage(ctx, h.url, image)
		c := doctor.CheckImage(doctor.Image{Name: image, Never: want.images[image]}, has)
		if err != nil {
			c.Status, c.Found, c.Fix = doctor.Warn, err.Error(), "look at the daemon"
		}
		out = append(out, c)
	}
	if want.gpus && !info.NVIDIA {
		out = append(out, doctor.NoGPUsInContainers)
	}
	for i := range out[1:] {
		out[1+i].Name = first.Name + ": " + out[1+i].Name
	}
	return out
}
