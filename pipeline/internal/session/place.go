package session

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// visibleDevices says which GPUs a process may use.
const visibleDevices = "CUDA_VISIBLE_DEVICES"

// ground is what servers are placed on where there is no cluster: this machine with the
// daemon of DOCKER_HOST, or the hosts of the docker block.
type ground struct {
	// hosts of the docker block, 0 without one.
	hosts int
	// simulated is as in plan.Plan.
	simulated string
	// together says that the servers must reach each other.
	together bool
}

// groundOf is the ground of a file's servers.
func groundOf(docker *steps.DockerSpec, simulated string, together bool) ground {
	g := ground{simulated: simulated, together: together}
	if docker != nil && simulated != SimulateProcess {
		g.hosts = len(docker.Hosts)
	}
	return g
}

// node of a server, counted from 0. All are one where no block names hosts.
func (g ground) node(spec steps.ServerSpec) int {
	if g.hosts == 0 {
		return 0
	}
	return spec.Node
}

// placed gives the processes of servers their network and their GPUs. Servers that
// hand KV cache over reach each other by the machine's own network, as they do in
// production. GPUs that the file names stay as they are; where it only counts, they are
// numbered in the order of the servers, so that no two servers of a host share one.
func placed(parts []part, g ground) ([]part, error) {
	parts = slices.Clone(parts)
	type device struct {
		node int
		id   string
	}
	taken := map[device]string{}
	for i := range parts {
		m := &parts[i]
		if err := g.check(m.Spec, m.Name); err != nil {
			return nil, err
		}
		if err := network(&m.Member, g.together || m.Spec.Spread()); err != nil && g.simulated == "" {
			return nil, err
		}
		for _, id := range namedGPUs(m.Spec) {
			at := device{g.node(m.Spec), id}
			if other := taken[at]; other != "" && other != m.Name && g.simulated == "" {
				return nil, fmt.Errorf("servers %q and %q both name GPU %s; give each GPUs of its own", other, m.Name, id)
			}
			taken[at] = m.Name
		}
	}
	next := map[int]int{}
	for i := range parts {
		m := &parts[i]
		if m.Spec.GPUs == 0 || m.Spec.URL != "" || choosesGPUs(m.Spec) {
			continue
		}
		var ids []string
		for node := g.node(m.Spec); len(ids) < m.Spec.GPUs; next[node]++ {
			if id := strconv.Itoa(next[node]); taken[device{node, id}] == "" {
				ids = append(ids, id)
			}
		}
		give(&m.Member, ids)
	}
	return parts, nil
}

// check says why a server cannot be on the host that it names.
func (g ground) check(spec steps.ServerSpec, name string) error {
	switch {
	case g.hosts == 0 || spec.URL != "":
	case spec.Node >= g.hosts:
		return fmt.Errorf("server %q is on node %d, beyond the %d hosts of the docker block, which count from 0; add a host, or lower node or nodes", name, spec.Node, g.hosts)
	case spec.Image == "" && g.simulated == "" && (g.together || spec.Spread() || spec.Node > 0):
		return fmt.Errorf("server %q is an executable, which runs on this machine, where servers at the hosts of the docker block do not reach it; give it an image", name)
	}
	return nil
}

// network puts the container of a server that others must reach into the machine's own.
func network(m *steps.Member, together bool) error {
	if m.Spec.Image == "" || !together {
		return nil
	}
	c := steps.ContainerSpec{}
	if m.Spec.Container != nil {
		c = *m.Spec.Container
	}
	if c.Network != "" && c.Network != steps.NetworkHost {
		return fmt.Errorf("server %q has network = %q, in which the other servers do not reach the ports of its KV transfer or of its ranks; leave network out, or set it to %q", m.Name, c.Network, steps.NetworkHost)
	}
	c.Network = steps.NetworkHost
	m.Spec.Container = &c
	return nil
}

// choosesGPUs says whether the file itself says which GPUs a server gets.
func choosesGPUs(spec steps.ServerSpec) bool {
	if slices.ContainsFunc(spec.Env, func(e steps.EnvVar) bool { return e.Name == visibleDevices }) {
		return true
	}
	c := spec.Container
	return spec.Image != "" && c != nil && (c.GPUs != nil || len(c.CDI) > 0 || spec.NewContainer().GPUs == nil)
}

// namedGPUs are those that the file names.
func namedGPUs(spec steps.ServerSpec) []string {
	if spec.Image != "" && spec.Container != nil && spec.Container.GPUs != nil {
		return spec.Container.GPUs.IDs
	}
	for _, e := range spec.Env {
		if e.Name == visibleDevices && e.Value != "" {
			return strings.Split(e.Value, ",")
		}
	}
	return nil
}

// give lets a server use some GPUs and no others.
func give(m *steps.Member, ids []string) {
	if m.Spec.Image == "" {
		m.Spec.Env = append(slices.Clone(m.Spec.Env), steps.EnvVar{Name: visibleDevices, Value: strings.Join(ids, ",")})
		return
	}
	c := steps.ContainerSpec{}
	if m.Spec.Container != nil {
		c = *m.Spec.Container
	}
	c.GPUs = &steps.GPURequest{IDs: ids}
	m.Spec.Container = &c
}
