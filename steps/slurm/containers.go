package slurm

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Containers returns what a runtime of the cluster does with the arguments of a container.
func Containers(runtime string) steps.ContainerSupport {
	out := steps.ContainerSupport{Place: "slurm with " + runtime, Args: decidedByAdministrators()}
	switch runtime {
	case steps.RuntimePyxis:
		addPyxis(out.Args)
	case steps.RuntimeApptainer:
		addApptainer(out.Args)
	default:
		out.Place = "slurm"
		addApptainer(out.Args)
		out.Args["image"] = steps.NotCarried(`the nodes have nothing to start an image with: set runtime = "pyxis" or "apptainer" in the ` +
			`slurm block, or executable in place of image`)
	}
	return out
}

// leaveOut is the advice for what the administrators of the nodes configure.
const leaveOut = "leave it out: the cluster's administrators decide it"

// decidedByAdministrators returns the arguments that both runtimes treat alike.
func decidedByAdministrators() map[string]steps.ContainerUse {
	args := map[string]steps.ContainerUse{
		"init":   steps.Carried("no init runs; slurmstepd reaps the processes"),
		"labels": steps.NotCarried("leave them out: a step of a job has none"),
		"pull": steps.CarriedExcept("the runtime imports the image at each start, through its cache",
			steps.ValueExcept("pull", func(c *steps.ContainerSpec) string { return c.Pull }, steps.PullMissing),
			"leave it out, and name the image by its digest or by the path of a file"),
		"network": steps.CarriedExcept("only `host`, which every step has",
			steps.ValueExcept("network", func(c *steps.ContainerSpec) string { return c.Network }, steps.NetworkHost), leaveOut),
		"pid": steps.CarriedExcept("only `host`, which every step has",
			steps.ValueExcept("pid", func(c *steps.ContainerSpec) string { return c.PID }, "host"), leaveOut),
		"ipc": steps.CarriedExcept("only `host`, which every step has",
			steps.ValueExcept("ipc", func(c *steps.ContainerSpec) string { return c.IPC }, "host"), leaveOut),
		"gpus": steps.CarriedExcept("ignored; the server's `gpus` counts, of the job's GPUs on the node", namedGPUs,
			"set the server's gpus to their number, or name them by CUDA_VISIBLE_DEVICES"),
	}
	for _, name := range []string{"platform", "user", "shm_size", "memory", "resources", "requests", "cpuset", "memset", "ulimits", "cap_add",
		"cap_drop", "security_opt", "group_add", "privileged", "devices", "runtime", "volumes", "tmpfs"} {
		args[name] = steps.NotCarried(leaveOut)
	}
	return args
}

func addPyxis(args map[string]steps.ContainerUse) {
	args["image"] = steps.Carried("`srun --container-image`")
	args["entrypoint"] = steps.CarriedExcept("the step's command", func(c *steps.ContainerSpec) []string {
		if c.OwnEntrypoint {
			return []string{"the image's own entrypoint"}
		}
		return nil
	}, "set container.entrypoint")
	args["workdir"] = steps.Carried("`srun --container-workdir`")
	args["mounts"] = steps.CarriedExcept("`srun --container-mounts`", separated, inMounts)
}

func addApptainer(args map[string]steps.ContainerUse) {
	args["image"] = steps.Carried("`apptainer exec IMAGE`")
	args["entrypoint"] = steps.Carried("`apptainer exec`; `apptainer run` for the image's own")
	args["workdir"] = steps.Carried("`apptainer exec --pwd`")
	args["mounts"] = steps.CarriedExcept("`apptainer exec --bind`", separated, inMounts)
}

// namedGPUs returns GPUs that are requested other than by their number.
func namedGPUs(c *steps.ContainerSpec) []string {
	if c.GPUs == nil || len(c.GPUs.IDs) == 0 && c.GPUs.Count != steps.AllGPUs {
		return nil
	}
	return []string{"container.gpus by name, or all of them"}
}

const inMounts = "a comma, a colon and a space separate mounts there: rename the folder, or link to it"

// separated returns the mounts that contain a character that the runtimes take for a separator.
func separated(c *steps.ContainerSpec) []string {
	var out []string
	for _, m := range c.Mounts {
		if strings.ContainsAny(m.Source+m.Target, ",: ") {
			out = append(out, fmt.Sprintf("the mount of %q", m.Source))
		}
	}
	return out
}
