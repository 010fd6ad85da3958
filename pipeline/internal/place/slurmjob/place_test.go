package slurmjob_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/pipeline/internal/place/slurmjob"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/slurm"
)

func TestPlacesOnACluster(t *testing.T) {
	server := func(name string, node, gpus int, visible string) steps.Member {
		m := steps.Member{Name: name, Spec: steps.ServerSpec{Executable: []string{"vllm"}, Node: node, GPUs: gpus}}
		if visible != "" {
			m.Spec.Env = []steps.EnvVar{{Name: place.VisibleDevices, Value: visible}}
		}
		return m
	}
	attached := steps.Member{Name: "there", Spec: steps.ServerSpec{URL: "http://h", Node: 7, GPUs: 9}}
	image := server("boxed", 0, 0, "")
	image.Spec.Executable, image.Spec.Image = nil, "vllm/vllm-openai:v0.11.0"
	for name, tt := range map[string]struct {
		members []steps.Member
		want    []slurm.Place
		fault   string
	}{
		"each node counts for itself": {
			members: []steps.Member{server("p", 0, 1, ""), server("d", 1, 2, ""), server("e", 0, 1, "")},
			want:    []slurm.Place{{Node: 0, GPUs: []int{0}}, {Node: 1, GPUs: []int{0, 1}}, {Node: 0, GPUs: []int{1}}},
		},
		"named ones are left out": {
			members: []steps.Member{server("p", 0, 1, ""), server("d", 0, 1, "0")},
			want:    []slurm.Place{{Node: 0, GPUs: []int{1}}, {Node: 0, GPUs: []int{0}}},
		},
		"no GPU": {members: []steps.Member{server("p", 1, 0, ""), attached}, want: []slurm.Place{{Node: 1}, {}}},
		"named twice": {members: []steps.Member{server("p", 0, 1, "1"), server("d", 0, 1, "1")},
			fault: `servers "p" and "d" both name GPU 1 of node 0`},
		"a UUID": {members: []steps.Member{server("p", 0, 1, "GPU-5f6e")}, fault: "does not name GPUs by their numbers"},
		"too many": {members: []steps.Member{server("p", 0, 2, ""), server("d", 0, 1, "")},
			fault: "d needs more GPUs of node 0 than the 2 that the file gives it"},
		"beyond the job":  {members: []steps.Member{server("p", 2, 0, "")}, fault: "node = 2 is beyond the 2 nodes"},
		"without runtime": {members: []steps.Member{image}, fault: "nothing to start an image with"},
	} {
		cfg := &config.Config{}
		cfg.Settings.Slurm = &steps.SlurmSpec{Nodes: 2, GPUsPerNode: 2, Runtime: steps.RuntimeNone}
		opt := place.Options{Plan: &plan.Plan{Config: cfg}, Shown: true}
		var target place.Target
		for _, m := range tt.members {
			target.Processes = append(target.Processes, place.Process{Name: m.Name, Spec: m.Spec})
		}
		slots, err := place.NewSet([]place.Kind{slurmjob.Kind()}, opt).Assign(target)
		if tt.fault != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fault) {
				t.Errorf("%s: %v, want %q", name, err, tt.fault)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := steps.Process{Name: "p", Argv: []string{"vllm"}, Host: "0.0.0.0", Port: 1}
		for i, at := range tt.want {
			if tt.members[i].Spec.URL != "" {
				continue
			}
			want, _ := slurm.Show(*cfg.Settings.Slurm, at, p)
			got, err := slots[i].Show(p)
			if diff := cmp.Diff(want, got.Argv); err != nil || diff != "" {
				t.Errorf("%s: %s: %v\n%s", name, tt.members[i].Name, err, diff)
			}
		}
	}
}
