package docker

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
)

func TestAllow(t *testing.T) {
	mount := func(source string) *steps.ContainerSpec {
		return &steps.ContainerSpec{Mounts: []steps.Mount{{Source: source, Target: "/x"}}}
	}
	device := func(path string) *steps.ContainerSpec {
		return &steps.ContainerSpec{Devices: []steps.ContainerDevice{{Host: path}}}
	}
	privileged, hostMounts, socket := Allow{Privileged: true}, Allow{HostMounts: true}, Allow{DockerSocket: true}
	tests := map[string]struct {
		spec *steps.ContainerSpec
		by   Allow // what allows it; zero if nothing has to
	}{
		"plain":          {&steps.ContainerSpec{}, Allow{}},
		"privileged":     {&steps.ContainerSpec{Privileged: true}, privileged},
		"pid":            {&steps.ContainerSpec{PID: "host"}, privileged},
		"network of":     {&steps.ContainerSpec{Network: "container:db"}, privileged},
		"ipc host":       {&steps.ContainerSpec{IPC: "host", Network: "host"}, Allow{}},
		"rdma":           {&steps.ContainerSpec{CapAdd: []string{"IPC_LOCK", "cap_sys_ptrace"}}, Allow{}},
		"sys_admin":      {&steps.ContainerSpec{CapAdd: []string{"SYS_ADMIN"}}, privileged},
		"all":            {&steps.ContainerSpec{CapAdd: []string{"ALL"}}, privileged},
		"seccomp":        {&steps.ContainerSpec{SecurityOpt: []string{"seccomp=unconfined"}}, Allow{}},
		"apparmor":       {&steps.ContainerSpec{SecurityOpt: []string{"apparmor=unconfined"}}, privileged},
		"infiniband":     {device("/dev/infiniband"), Allow{}},
		"uverbs":         {device("/dev/infiniband/uverbs0"), Allow{}},
		"gpu":            {device("/dev/nvidia0"), Allow{}},
		"kfd":            {device("/dev/kfd"), Allow{}},
		"disk":           {device("/dev/sda"), privileged},
		"disk by detour": {device("/dev/infiniband/../sda"), privileged},
		"memory":         {device("/dev/mem"), privileged},
		"all devices":    {device("/dev"), privileged},
		"zeroed":         {device("/dev/zeroday"), privileged},
		"root":           {mount("/"), hostMounts},
		"root by detour": {mount("/tmp/../"), hostMounts},
		"etc":            {mount("/etc/ssl"), hostMounts},
		"home":           {mount("/home/me"), hostMounts},
		"docker's":       {mount("/var/lib/docker"), hostMounts},
		"run":            {mount("/run"), hostMounts},
		"socket":         {mount("/var/run/docker.sock"), socket},
		"other socket":   {mount("/run/containerd/containerd.sock"), socket},
		"shared memory":  {mount("/dev/shm"), Allow{}},
	}
	for name, tt := range tests {
		for _, allow := range []Allow{{}, privileged, hostMounts, socket} {
			l := &Launcher{daemon: &daemon{}, opt: Options{Allow: allow}}
			err := l.Check(tt.spec)
			if want := tt.by == (Allow{}) || allow == tt.by; want != (err == nil) || err != nil && !errors.Is(err, ErrRefused) {
				t.Errorf("%s with %+v: %v", name, allow, err)
			}
		}
	}
}

// On this machine a link is judged by where it leads.
func TestAllowFollowsLinks(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/", filepath.Join(dir, "models")); err != nil {
		t.Fatal(err)
	}
	l := &Launcher{daemon: &daemon{local: true}, opt: Options{Dir: dir}}
	check := func(source string) error {
		return l.Check(&steps.ContainerSpec{Mounts: []steps.Mount{{Source: source, Target: "/x"}}})
	}
	if err := check("models"); !errors.Is(err, ErrRefused) {
		t.Errorf("link to the root: %v", err)
	}
	if err := check("models/etc"); !errors.Is(err, ErrRefused) {
		t.Errorf("below a link to the root: %v", err)
	}
	if err := check("missing"); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("missing folder: %v", err)
	}
	if err := check("."); err != nil {
		t.Errorf("the file's own folder: %v", err)
	}
	l.opt.Dir = ""
	if err := check("models"); err == nil || !strings.Contains(err.Error(), "absolute path") {
		t.Errorf("relative to nothing: %v", err)
	}
}
