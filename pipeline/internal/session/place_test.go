package session

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
)

// gpusOf says which GPUs each server got.
func gpusOf(members []part) map[string]string {
	out := map[string]string{}
	for _, m := range members {
		if m.Spec.Image == "" || m.Spec.Container == nil || m.Spec.Container.GPUs == nil {
			for _, e := range m.Spec.Env {
				if e.Name == visibleDevices {
					out[m.Name] = e.Value
				}
			}
			continue
		}
		out[m.Name] = strings.Join(m.Spec.Container.GPUs.IDs, ",")
	}
	return out
}

func TestPlaced(t *testing.T) {
	process := func(name string, gpus int, env ...steps.EnvVar) steps.Member {
		return steps.Member{Name: name, Spec: steps.ServerSpec{Executable: []string{"vllm"}, GPUs: gpus, Env: env}}
	}
	container := func(name string, gpus int, c *steps.ContainerSpec) steps.Member {
		return steps.Member{Name: name, Spec: steps.ServerSpec{Image: "engine:v1", GPUs: gpus, Container: c}}
	}
	visible := func(ids string) steps.EnvVar { return steps.EnvVar{Name: visibleDevices, Value: ids} }
	named := func(ids ...string) *steps.ContainerSpec {
		return &steps.ContainerSpec{GPUs: &steps.GPURequest{IDs: ids}}
	}
	for name, tt := range map[string]struct {
		members []steps.Member
		want    map[string]string
		err     string
	}{
		"processes, numbered in their order": {members: []steps.Member{process("p", 1), process("d", 2)}, want: map[string]string{"p": "0", "d": "1,2"}},
		"containers":                         {members: []steps.Member{container("p", 2, nil), container("d", 1, nil)}, want: map[string]string{"p": "0,1", "d": "2"}},
		"around those that are named":        {members: []steps.Member{process("p", 2), container("d", 1, named("1"))}, want: map[string]string{"p": "0,2", "d": "1"}},
		"the env's own choice":               {members: []steps.Member{process("p", 1, visible("0")), process("d", 1)}, want: map[string]string{"p": "0", "d": "1"}},
		"both on each":                       {members: []steps.Member{process("p", 1), container("d", 1, nil)}, want: map[string]string{"p": "0", "d": "1"}},
		"without GPUs":                       {members: []steps.Member{process("p", 0), process("d", 0)}, want: map[string]string{}},
		"devices of ROCm choose themselves":  {members: []steps.Member{container("p", 1, &steps.ContainerSpec{Devices: []steps.ContainerDevice{{Host: "/dev/kfd"}}})}, want: map[string]string{}},
		"one GPU twice":                      {members: []steps.Member{container("p", 1, named("3")), process("d", 1, visible("2,3"))}, err: `servers "p" and "d" both name GPU 3`},
		"another network": {
			members: []steps.Member{container("p", 1, &steps.ContainerSpec{Network: steps.NetworkBridge})},
			err:     `server "p" has network = "bridge"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			parts := spread(tt.members)
			before := gpusOf(parts)
			got, err := placed(parts, ground{together: true})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, gpusOf(got)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, gpusOf(parts)); diff != "" {
				t.Errorf("the file's own spec was changed:\n%s", diff)
			}
			for _, m := range got {
				if m.Spec.Image != "" && m.Spec.Container.Network != steps.NetworkHost {
					t.Errorf("%s is in network %q", m.Name, m.Spec.Container.Network)
				}
			}
		})
	}
	// Without a transfer servers need not reach each other.
	alone, err := placed(spread([]steps.Member{container("a", 0, &steps.ContainerSpec{Network: steps.NetworkBridge})}), ground{})
	if err != nil || alone[0].Spec.Container.Network != steps.NetworkBridge {
		t.Errorf("%v, %v", alone, err)
	}
}
