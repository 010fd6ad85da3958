package docker

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Containers returns what the daemon does with the arguments of a container, given the rights that containers may
// get. A launcher checks the sources of mounts itself, because they depend on its folder.
func Containers(allow Allow) steps.ContainerSupport {
	right := func(as string, privileges func(*steps.ContainerSpec) []string) steps.ContainerUse {
		if allow.Privileged {
			return steps.Carried(as)
		}
		return steps.CarriedExcept(as, privileges, "allow privileged containers if it must be")
	}
	return steps.ContainerSupport{Place: "docker", Args: map[string]steps.ContainerUse{
		"image":        steps.Carried("`docker run IMAGE`"),
		"entrypoint":   steps.Carried("`--entrypoint`"),
		"pull":         steps.Carried("`docker pull` before the first launch"),
		"platform":     steps.Carried("`--platform`"),
		"workdir":      steps.Carried("`--workdir`"),
		"user":         steps.Carried("`--user`"),
		"init":         steps.Carried("`--init`"),
		"labels":       steps.Carried("`--label`"),
		"network":      right("`--network`", anotherNamespace("network", func(c *steps.ContainerSpec) string { return c.Network })),
		"ipc":          right("`--ipc`", anotherNamespace("ipc", func(c *steps.ContainerSpec) string { return c.IPC })),
		"pid":          right("`--pid`; needs `--allow-privileged`", sharedPID),
		"shm_size":     steps.Carried("`--shm-size`"),
		"memory":       steps.Carried("`--memory`"),
		"resources":    steps.NotCarried("set memory and cpuset, which Docker has"),
		"requests":     steps.NotCarried("Docker reserves nothing; set memory and cpuset"),
		"cpuset":       steps.Carried("`--cpuset-cpus`"),
		"memset":       steps.Carried("`--cpuset-mems`"),
		"ulimits":      steps.Carried("`--ulimit`"),
		"cap_add":      right("`--cap-add`; some need `--allow-privileged`", harmfulCapabilities),
		"cap_drop":     steps.Carried("`--cap-drop`"),
		"security_opt": right("`--security-opt`; some need `--allow-privileged`", unconfined),
		"group_add":    steps.Carried("`--group-add`"),
		"privileged":   right("`--privileged`; needs `--allow-privileged`", privileged),
		"gpus":         steps.Carried("`--gpus`"),
		"devices":      right("`--device`; other than accelerators need `--allow-privileged`", otherDevices),
		"runtime":      steps.Carried("`--runtime`"),
		"mounts": steps.Carried("`--mount type=bind`; some sources need `--allow-host-mounts` or " +
			"`--allow-docker-socket`"),
		"volumes": steps.Carried("`--mount type=volume`"),
		"tmpfs":   steps.Carried("`--tmpfs`"),
	}}
}

// The functions below return the settings that are equivalent to a privileged container.

func privileged(c *steps.ContainerSpec) []string {
	if c.Privileged {
		return []string{"privileged"}
	}
	return nil
}

func sharedPID(c *steps.ContainerSpec) []string {
	if c.PID != "" && c.PID != "private" {
		return []string{fmt.Sprintf("pid = %q", c.PID)}
	}
	return nil
}

func anotherNamespace(name string, value func(*steps.ContainerSpec) string) func(*steps.ContainerSpec) []string {
	return func(c *steps.ContainerSpec) []string {
		if v := value(c); strings.HasPrefix(v, "container:") {
			return []string{fmt.Sprintf("%s = %q", name, v)}
		}
		return nil
	}
}

func harmfulCapabilities(c *steps.ContainerSpec) []string {
	var out []string
	for _, name := range c.CapAdd {
		if !slices.Contains(harmless, strings.TrimPrefix(strings.ToUpper(name), "CAP_")) {
			out = append(out, "capability "+name)
		}
	}
	return out
}

func otherDevices(c *steps.ContainerSpec) []string {
	var out []string
	for _, d := range c.Devices {
		if path := filepath.Clean(d.Host); !slices.ContainsFunc(accelerators, func(prefix string) bool { return within(path, prefix) }) {
			out = append(out, "device "+d.Host)
		}
	}
	return out
}

func unconfined(c *steps.ContainerSpec) []string {
	var out []string
	for _, o := range c.SecurityOpt {
		if !confines(o) {
			out = append(out, "security_opt "+o)
		}
	}
	return out
}
