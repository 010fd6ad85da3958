package place

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// VisibleDevices is the variable that lists the GPUs that a process may use.
const VisibleDevices = "CUDA_VISIBLE_DEVICES"

// GPUs describes the GPU request of a server.
type GPUs struct {
	// Host identifies the machine: two servers on it must not share a GPU.
	Host string
	// Named lists the GPUs that the file names.
	Named []string
	// Count is the number of further GPUs, to be assigned by number.
	Count int
	// Limit is the number of GPUs of the machine, nil if unknown.
	Limit *int
}

// device is a GPU of a machine.
type device struct{ host, id string }

// numberGPUs assigns GPUs to servers: the named ones, and further ones of their machine in server order, so
// that no two servers share one. shared means that two may name the same one.
func numberGPUs(t Target, wants []GPUs, shared bool) ([][]string, error) {
	owner := map[device]string{}
	for i, p := range t.Processes {
		for _, id := range wants[i].Named {
			at := device{wants[i].Host, id}
			if other := owner[at]; other != "" && other != p.Name && !shared {
				return nil, fmt.Errorf("servers %q and %q both name GPU %s%s; give each GPUs of its own", other, p.Name, id, ofHost(at.host))
			}
			owner[at] = p.Name
		}
	}
	out, next := make([][]string, len(wants)), map[string]int{}
	for i, p := range t.Processes {
		w := wants[i]
		for ; len(out[i]) < w.Count; next[w.Host]++ {
			id := strconv.Itoa(next[w.Host])
			if owner[device{w.Host, id}] == "" {
				out[i] = append(out[i], id)
			}
		}
		if err := w.within(p, append(slices.Clone(w.Named), out[i]...)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// within returns an error for GPUs beyond those of the machine.
func (w GPUs) within(p Process, ids []string) error {
	for _, id := range ids {
		if n, err := strconv.Atoi(id); w.Limit != nil && err == nil && n >= *w.Limit {
			return fmt.Errorf("%s needs more GPUs%s than the %d that the file gives it", p.Name, ofHost(w.Host), *w.Limit)
		}
	}
	return nil
}

func ofHost(host string) string {
	if host == "" {
		return ""
	}
	return " of " + host
}

// DeclaredGPUs returns the GPUs that a file declares for a server on a host: those that its container or
// environment names, or a number. A container that gets devices by other means needs none assigned.
func DeclaredGPUs(spec steps.ServerSpec, host string) GPUs {
	w := GPUs{Host: host, Named: named(spec)}
	if !chosen(spec) {
		w.Count = spec.GPUs
	}
	return w
}

// chosen reports whether the file selects a server's GPUs.
func chosen(spec steps.ServerSpec) bool {
	if _, set := steps.Getenv(spec.Env, VisibleDevices); set {
		return true
	}
	c := spec.Container
	return spec.Image != "" && c != nil && (c.GPUs != nil || len(c.CDI) > 0 || spec.NewContainer().GPUs == nil)
}

// wantsGPUs reports whether the file gives a server devices or requests some.
func wantsGPUs(spec steps.ServerSpec) bool {
	c := spec.NewContainer()
	return spec.GPUs > 0 || len(named(spec)) > 0 || c != nil && (c.GPUs != nil || len(c.CDI)+len(c.Devices) > 0 || c.Runtime != "")
}

func named(spec steps.ServerSpec) []string {
	if spec.Image != "" && spec.Container != nil && spec.Container.GPUs != nil {
		return spec.Container.GPUs.IDs
	}
	if ids, _ := steps.Getenv(spec.Env, VisibleDevices); ids != "" {
		return strings.Split(ids, ",")
	}
	return nil
}

// WithGPUs returns a spec that limits a server to some GPUs; without any, it returns spec unchanged.
func WithGPUs(spec steps.ServerSpec, ids []string) steps.ServerSpec {
	if len(ids) == 0 {
		return spec
	}
	if spec.Image == "" {
		spec.Env = append(slices.Clone(spec.Env), steps.EnvVar{Name: VisibleDevices, Value: strings.Join(ids, ",")})
		return spec
	}
	c := containerOf(spec)
	c.GPUs = &steps.GPURequest{IDs: ids}
	spec.Container = &c
	return spec
}

// OnHostNetwork returns a spec whose container uses the network of its machine.
func OnHostNetwork(spec steps.ServerSpec) steps.ServerSpec {
	if spec.Image == "" {
		return spec
	}
	c := containerOf(spec)
	c.Network = steps.NetworkHost
	spec.Container = &c
	return spec
}

func containerOf(spec steps.ServerSpec) steps.ContainerSpec {
	if spec.Container == nil {
		return steps.ContainerSpec{}
	}
	return *spec.Container
}
