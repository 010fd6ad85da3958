package kubernetes

import (
	"encoding/json"
	"regexp"
	"testing"

	core "k8s.io/api/core/v1"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/containertest"
)

// unique is the random end of a Pod's name.
var unique = regexp.MustCompile(`"pipeline-(s|pull)-[^"]*"`)

func TestContainersAsPods(t *testing.T) {
	r := runOf(steps.KubernetesSpec{})
	containertest.Column(t, Containers(), func(c *steps.ContainerSpec) string {
		argv := append(c.Entrypoint, "vllm", "serve")
		pod, err := r.podOf(steps.Process{Name: "s", Argv: argv, Container: c}, Node{Name: "k1"}, "")
		if err != nil {
			return err.Error()
		}
		text, err := json.Marshal([]*core.Pod{pod, r.pullPod(Node{Name: "k1"}, c)})
		if err != nil {
			t.Fatal(err)
		}
		return unique.ReplaceAllString(string(text), `"$1"`)
	}, "init")
}

func TestContainers(t *testing.T) {
	for name, tt := range map[string]struct {
		spec steps.ContainerSpec
		arg  string
	}{
		"plain":           {steps.ContainerSpec{IPC: "host", User: "0"}, ""},
		"a CDI device":    {steps.ContainerSpec{CDI: []string{"nvidia.com/gpu=0"}}, "devices"},
		"GPUs by name":    {steps.ContainerSpec{GPUs: &steps.GPURequest{IDs: []string{"0"}}}, "gpus"},
		"all GPUs":        {steps.ContainerSpec{GPUs: &steps.GPURequest{Count: steps.AllGPUs}}, "gpus"},
		"a user's name":   {steps.ContainerSpec{User: "root"}, "user"},
		"a group's name":  {steps.ContainerSpec{GroupAdd: []string{"video"}}, "group_add"},
		"another network": {steps.ContainerSpec{Network: "fast"}, "network"},
		"shared memory":   {steps.ContainerSpec{IPC: "shareable"}, "ipc"},
		"a filter":        {steps.ContainerSpec{SecurityOpt: []string{"seccomp=/etc/own.json"}}, "security_opt"},
		"confined": {steps.ContainerSpec{User: "1000", CapDrop: []string{"ALL"}, SecurityOpt: []string{"no-new-privileges",
			"seccomp:builtin"}}, ""},
		"a size":  {steps.ContainerSpec{Tmpfs: map[string]string{"/x": "size=big"}}, "tmpfs"},
		"a share": {steps.ContainerSpec{Tmpfs: map[string]string{"/x": "size=50%"}}, "tmpfs"},
	} {
		found := Containers().Check(&tt.spec)
		if tt.arg == "" && len(found) > 0 || tt.arg != "" && (len(found) != 1 || found[0].Arg != tt.arg) {
			t.Errorf("%s: %v, want %q", name, found, tt.arg)
		}
	}
}
