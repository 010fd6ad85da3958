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

// placed gives the servers of a deployment their network and their GPUs. Servers that
// hand KV cache over reach each other by the machine's own network, as they do in
// production. GPUs that the file names stay as they are; where it only counts, they are
// numbered in the order of the servers, so that no two servers share one.
func placed(spec steps.DeploymentSpec, simulated bool) ([]steps.Member, error) {
	members := slices.Clone(spec.Members)
	taken := map[string]string{}
	for i := range members {
		m := &members[i]
		if err := network(m, spec.Transfer != nil); err != nil && !simulated {
			return nil, err
		}
		for _, id := range namedGPUs(m.Spec) {
			if other := taken[id]; other != "" && other != m.Name && !simulated {
				return nil, fmt.Errorf("servers %q and %q both name GPU %s; give each GPUs of its own", other, m.Name, id)
			}
			taken[id] = m.Name
		}
	}
	next := 0
	for i := range members {
		m := &members[i]
		if m.Spec.GPUs == 0 || m.Spec.URL != "" || choosesGPUs(m.Spec) {
			continue
		}
		var ids []string
		for ; len(ids) < m.Spec.GPUs; next++ {
			if id := strconv.Itoa(next); taken[id] == "" {
				ids = append(ids, id)
			}
		}
		give(m, ids)
	}
	return members, nil
}

// network puts the container of a server that hands KV cache over into the machine's own.
func network(m *steps.Member, transfer bool) error {
	if m.Spec.Image == "" || !transfer {
		return nil
	}
	c := steps.ContainerSpec{}
	if m.Spec.Container != nil {
		c = *m.Spec.Container
	}
	if c.Network != "" && c.Network != steps.NetworkHost {
		return fmt.Errorf("server %q has network = %q, in which the other servers do not reach the ports of its KV transfer; leave network out, or set it to %q", m.Name, c.Network, steps.NetworkHost)
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
