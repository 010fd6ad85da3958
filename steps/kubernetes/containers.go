package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	core "k8s.io/api/core/v1"

	"github.com/servegate/pipeline/steps"
)

// Containers returns what a Pod does with the arguments of a container.
func Containers() steps.ContainerSupport {
	args := map[string]steps.ContainerUse{
		"image":      steps.Carried("`image`"),
		"entrypoint": steps.Carried("`command`; `args` for the image's own"),
		"pull":       steps.Carried("`imagePullPolicy` of the Pod that pulls the image"),
		"platform":   steps.NotCarried("choose nodes by node_selector of the kubernetes block"),
		"workdir":    steps.Carried("`workingDir`"),
		"init":       steps.Carried("no init runs"),
		"labels":     steps.Carried("annotations `pipeline/label.NAME`"),
		"gpus": steps.CarriedExcept("a number of `gpu_resource`", namedGPUs,
			"set gpus to their number; the device plugin chooses them"),
		"devices": steps.NotCarried("ask for what the device plugin offers in resources of the kubernetes block"),
		"runtime": steps.Carried("`runtimeClassName`"),
		"mounts":  steps.NotCarried("volumes are claims of the namespace by name"),
		"volumes": steps.Carried("claims of the namespace by name"),
		"tmpfs": steps.CarriedExcept("`emptyDir` in memory, with the size", unsizedTmpfs,
			"write its size as size=N in bytes, k, m or g"),
	}
	maps.Copy(args, sharedWithNode())
	return steps.ContainerSupport{Place: "kubernetes", Args: args}
}

// sharedWithNode lists what a container shares with its node and may use of it.
func sharedWithNode() map[string]steps.ContainerUse {
	const host = "leave it out, or set it to host"
	const cores = "set cpu in resources"
	const amounts = "write cpu, memory, ephemeral-storage, hugepages-SIZE or DOMAIN/NAME of a device plugin, with an amount such as 16, " +
		"500m or 64Gi"
	return map[string]steps.ContainerUse{
		"network": steps.CarriedExcept("`hostNetwork`; `bridge` is the Pod's own", steps.ValueExcept("network",
			func(c *steps.ContainerSpec) string { return c.Network }, steps.NetworkBridge, steps.NetworkHost), host),
		"ipc": steps.CarriedExcept("`hostIPC`; `private` and `none` are the Pod's own", steps.ValueExcept("ipc",
			func(c *steps.ContainerSpec) string { return c.IPC }, "private", "none", "host"), host),
		"pid": steps.CarriedExcept("`hostPID`", steps.ValueExcept("pid",
			func(c *steps.ContainerSpec) string { return c.PID }, "host"), host),
		"shm_size": steps.Carried("`emptyDir` in memory at /dev/shm"),
		"memory":   steps.Carried("request and limit of `memory`"),
		"resources": steps.CarriedExcept("requests and limits, over `resources` of the kubernetes block", func(c *steps.ContainerSpec) []string {
			return wrongAmounts("resources", c.Resources)
		}, amounts),
		"requests":   steps.CarriedExcept("requests alone", wrongRequests, amounts),
		"cpuset":     steps.NotCarried(cores),
		"memset":     steps.NotCarried(cores),
		"ulimits":    steps.NotCarried("Kubernetes has none; the container runtime of the nodes sets them"),
		"cap_add":    steps.Carried("`capabilities`"),
		"cap_drop":   steps.Carried("`capabilities`"),
		"privileged": steps.Carried("`privileged`"),
		"user": steps.CarriedExcept("`runAsUser` and `runAsGroup`, by number", namedUser,
			"it must be a number in a Pod, or two with a colon between"),
		"group_add": steps.CarriedExcept("`supplementalGroups`, by number", namedGroups, "it must be a number in a Pod"),
		"security_opt": steps.CarriedExcept("`seccompProfile`, `allowPrivilegeEscalation`", unknownOptions,
			"a Pod has no-new-privileges, seccomp=builtin and seccomp=unconfined"),
	}
}

// namedGPUs returns GPUs that are requested other than by their number.
func namedGPUs(c *steps.ContainerSpec) []string {
	switch {
	case c.GPUs == nil:
		return nil
	case len(c.GPUs.IDs) > 0:
		return []string{"GPUs by name"}
	case c.GPUs.Count == steps.AllGPUs:
		return []string{"all GPUs"}
	}
	return nil
}

func unsizedTmpfs(c *steps.ContainerSpec) []string {
	var out []string
	for _, at := range slices.Sorted(maps.Keys(c.Tmpfs)) {
		if _, err := tmpfsSize(c.Tmpfs[at]); err != nil {
			out = append(out, fmt.Sprintf("tmpfs at %s: %v", at, err))
		}
	}
	return out
}

func namedUser(c *steps.ContainerSpec) []string {
	if c.User == "" || runAs(&core.SecurityContext{}, c.User) {
		return nil
	}
	return []string{fmt.Sprintf("user %q", c.User)}
}

func namedGroups(c *steps.ContainerSpec) []string {
	var out []string
	for _, g := range c.GroupAdd {
		if _, err := groupID(g); err != nil {
			out = append(out, fmt.Sprintf("group_add %q", g))
		}
	}
	return out
}

func unknownOptions(c *steps.ContainerSpec) []string {
	var out []string
	for _, o := range c.SecurityOpt {
		if securityOptions[normalOption(o)] == nil {
			out = append(out, fmt.Sprintf("security_opt %q", o))
		}
	}
	return out
}

// normalOption returns a security option in the form of the keys of securityOptions.
func normalOption(o string) string { return strings.Replace(o, ":", "=", 1) }
