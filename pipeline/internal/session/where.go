package session

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/docker"
	"github.com/servegate/pipeline/steps/slurm"
)

// place gives the processes of a target their nodes, GPUs and network, and makes of their
// specs what is started there. at are their places on a cluster, by their index; nil without
// one.
func (t targets) place(parts []part, together bool) (out []part, at []slurm.Place, err error) {
	if t.cluster != nil {
		at, err = t.cluster.places(membersOf(parts))
	} else {
		parts, err = placed(parts, groundOf(t.opt.Config.Settings.Docker, t.opt.Plan.Simulated, together))
	}
	if err != nil {
		return nil, nil, err
	}
	for i := range parts {
		p := &parts[i]
		p.Spec = t.startable(p.Spec, together || p.Spec.Spread())
	}
	return parts, at, nil
}

// startable is a spec as it is started here: as itself, or as its simulated double.
func (t targets) startable(spec steps.ServerSpec, together bool) steps.ServerSpec {
	switch {
	case t.opt.Plan.Simulated == SimulateContainer && spec.URL == "":
		spec = t.containers.simulatedSpec(spec)
		if together {
			spec.Container.Network = steps.NetworkHost
		}
	case t.opt.Plan.Simulated != "" && spec.URL == "":
		spec = bare(spec)
	case spec.Image == "":
		spec = located(spec, t.opt.Dir)
	}
	if t.cluster != nil {
		return onNode(spec)
	}
	if h := t.hostOf(spec); h != nil && !h.local && spec.Container != nil && spec.Container.Network == steps.NetworkHost {
		spec.Listen = anyAddress
	}
	return spec
}

// hostOf is the daemon's host that a spec is started on, nil if it runs in no container.
func (t targets) hostOf(spec steps.ServerSpec) *dockerHost {
	if t.cluster != nil || spec.Image == "" || spec.URL != "" {
		return nil
	}
	return t.containers.host(spec.Node)
}

// launcherAt starts a process at its place.
func (t targets) launcherAt(at []slurm.Place, parts []part, i int) steps.Launcher {
	if t.cluster != nil {
		return t.cluster.launcher(at[i])
	}
	if h := t.hostOf(parts[i].Spec); h != nil {
		return h.launcher
	}
	return t.launcher
}

// hostsOf are the addresses at which others reach processes, by their names. A process
// without one is at the loopback address.
func (t targets) hostsOf(at []slurm.Place, parts []part) (map[string]string, error) {
	hosts := map[string]string{}
	for i, p := range parts {
		if p.Spec.URL != "" {
			continue
		}
		if t.cluster != nil {
			address, err := t.nodeAddress(at[i].Node)
			if err != nil {
				return nil, err
			}
			hosts[p.Name] = address
			continue
		}
		if h := t.hostOf(p.Spec); h != nil && p.Spec.ListenHost() != loopback {
			hosts[p.Name] = h.address
		}
	}
	return hosts, nil
}

// nodeAddress of a node of the cluster, or its symbol where the plan is only shown.
func (t targets) nodeAddress(node int) (string, error) {
	if len(t.cluster.job.Nodes()) == 0 {
		return fmt.Sprintf("NODE%d", node), nil
	}
	return t.cluster.address(node)
}

// self is where this program is for a simulated process.
func (t targets) self() string {
	if t.opt.Plan.Simulated == SimulateContainer {
		return docker.SimulatorProgram
	}
	return t.opt.Self
}

// anyAddress is what a process listens on that is reached by an address of its machine
// which it need not know.
const anyAddress = "0.0.0.0"
