// Package containertest tests a column of the table of container capabilities against what a launcher renders.
package containertest

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/steps"
)

// examples set one argument of a container.
var examples = map[string]func(*steps.ContainerSpec){
	"image":        func(c *steps.ContainerSpec) { c.Image = "registry.example/other:2" },
	"entrypoint":   func(c *steps.ContainerSpec) { c.Entrypoint = []string{"python3"} },
	"pull":         func(c *steps.ContainerSpec) { c.Pull = steps.PullAlways },
	"platform":     func(c *steps.ContainerSpec) { c.Platform = "linux/arm64" },
	"workdir":      func(c *steps.ContainerSpec) { c.Workdir = "/w" },
	"user":         func(c *steps.ContainerSpec) { c.User = "1000" },
	"init":         func(c *steps.ContainerSpec) { c.NoInit = true },
	"labels":       func(c *steps.ContainerSpec) { c.Labels = map[string]string{"team": "serving"} },
	"network":      func(c *steps.ContainerSpec) { c.Network = steps.NetworkHost },
	"ipc":          func(c *steps.ContainerSpec) { c.IPC = "host" },
	"pid":          func(c *steps.ContainerSpec) { c.PID = "host" },
	"shm_size":     func(c *steps.ContainerSpec) { c.ShmSize = 16 << 30 },
	"memory":       func(c *steps.ContainerSpec) { c.Memory = 8 << 30 },
	"resources":    func(c *steps.ContainerSpec) { c.Resources = map[string]string{"cpu": "16", "rdma/hca": "1"} },
	"requests":     func(c *steps.ContainerSpec) { c.Requests = map[string]string{"cpu": "8"} },
	"cpuset":       func(c *steps.ContainerSpec) { c.CPUSet = "0-15" },
	"memset":       func(c *steps.ContainerSpec) { c.MemSet = "0" },
	"ulimits":      func(c *steps.ContainerSpec) { c.Ulimits = []steps.Ulimit{{Name: "memlock", Soft: -1, Hard: -1}} },
	"cap_add":      func(c *steps.ContainerSpec) { c.CapAdd = []string{"IPC_LOCK"} },
	"cap_drop":     func(c *steps.ContainerSpec) { c.CapDrop = []string{"ALL"} },
	"security_opt": func(c *steps.ContainerSpec) { c.SecurityOpt = []string{"seccomp=unconfined"} },
	"group_add":    func(c *steps.ContainerSpec) { c.GroupAdd = []string{"44"} },
	"privileged":   func(c *steps.ContainerSpec) { c.Privileged = true },
	"gpus":         func(c *steps.ContainerSpec) { c.GPUs = &steps.GPURequest{Count: 2} },
	"devices": func(c *steps.ContainerSpec) {
		c.Devices = []steps.ContainerDevice{{Host: "/dev/infiniband", Container: "/dev/infiniband", Permissions: "rwm"}}
	},
	"runtime": func(c *steps.ContainerSpec) { c.Runtime = "nvidia" },
	"mounts": func(c *steps.ContainerSpec) {
		c.Mounts = []steps.Mount{{Source: "/data/hf", Target: "/hf", ReadOnly: true}}
	},
	"volumes": func(c *steps.ContainerSpec) { c.Volumes = []steps.Volume{{Name: "weights", Target: "/models"}} },
	"tmpfs":   func(c *steps.ContainerSpec) { c.Tmpfs = map[string]string{"/scratch": "size=1g"} },
}

// Column tests that a place does what its column states: what it carries changes what render returns, except for
// the arguments named by elsewhere, and what it refuses is an error that names the argument. render gets a
// container with the image and at most one other argument.
func Column(t *testing.T, s steps.ContainerSupport, render func(*steps.ContainerSpec) string, elsewhere ...string) {
	t.Helper()
	if missing := s.Unstated(); len(missing) > 0 {
		t.Errorf("%s does not state what it does with %q, or states it for no argument", s.Place, missing)
	}
	plain := func() *steps.ContainerSpec { return &steps.ContainerSpec{Image: "registry.example/engine:1"} }
	before := render(plain())
	for _, a := range steps.ContainerArgs() {
		set := examples[a.Name]
		if set == nil {
			t.Errorf("container.%s has no example here", a.Name)
			continue
		}
		c := plain()
		if a.Name != "image" && a.Set(c) {
			t.Errorf("container.%s counts as set in a container without it", a.Name)
		}
		if set(c); !a.Set(c) {
			t.Errorf("container.%s does not count as set by its example", a.Name)
		}
		found := s.Check(c)
		named := len(found) == 1 && found[0].Place == s.Place && found[0].Arg == a.Name && found[0].Advice != ""
		use := s.Args[a.Name]
		switch {
		case use.As == "" && !named:
			t.Errorf("%s refuses container.%s, with the errors %v", s.Place, a.Name, found)
		case len(found) > 0 && !named:
			t.Errorf("%s, container.%s: %v", s.Place, a.Name, found)
		case len(found) > 0:
		case slices.Contains(elsewhere, a.Name) != (render(c) == before):
			t.Errorf("%s, container.%s becomes %q, which changes what is started: %t", s.Place, a.Name, use.As, render(c) != before)
		}
	}
}
