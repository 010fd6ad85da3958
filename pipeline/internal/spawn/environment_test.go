package spawn_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/pipeline/internal/spawn"
	"github.com/servegate/pipeline/steps"
)

func TestEnvironment(t *testing.T) {
	environ := []string{
		"PATH=/bin", "HOME=/root", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0", "HF_HOME=/hf", "HTTPS_PROXY=http://p",
		"GITHUB_TOKEN=t", "ACTIONS_RUNTIME_TOKEN=t", "ACTIONS_CACHE_URL=u", "RUNNER_TEMP=/t", "INPUT_FILE=f",
		"HF_TOKEN=t", "HF_HUB_TOKEN=t", "AWS_SECRET_ACCESS_KEY=s", "NCCL_API_KEY=k", "CUDA_PASSWORD=p",
		"VLLM_PORT=tcp://10.0.0.1:80", "RANDOM_THING=1", "=odd", "novalue",
	}
	tests := map[string]struct {
		policy spawn.Policy
		set    []steps.EnvVar
		want   []string
	}{
		"allow-list": {
			want: []string{"PATH=/bin", "HOME=/root", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0", "HF_HOME=/hf", "HTTPS_PROXY=http://p"},
		},
		"set by the command": {
			set: []steps.EnvVar{{Name: "PATH", Value: "/x"}, {Name: "HF_TOKEN", Value: "mine", Secret: true}, {Name: "A", Value: "1"},
				{Name: "A", Value: "2"}},
			want: []string{"PATH=/x", "HOME=/root", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0", "HF_HOME=/hf", "HTTPS_PROXY=http://p",
				"HF_TOKEN=mine", "A=2"},
		},
		"also": {
			policy: spawn.Policy{Also: []string{"RANDOM_*", "GITHUB_*", "HF_TOKEN"}},
			want: []string{"PATH=/bin", "HOME=/root", "LC_ALL=C", "CUDA_VISIBLE_DEVICES=0", "HF_HOME=/hf", "HTTPS_PROXY=http://p",
				"HF_TOKEN=t", "RANDOM_THING=1"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.policy.Environment(environ, tt.set)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
