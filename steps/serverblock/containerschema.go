package serverblock

import (
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// coreList is a list of cores or memory nodes.
var coreList = steps.Matching("^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$", "must be a list of numbers and ranges", "For example 0-15,32-47.")

// containerSchema lists the arguments of a server's container block.
func containerSchema() steps.Schema {
	attrs := containerProgramAttrs()
	attrs = append(attrs, containerResourceAttrs()...)
	attrs = append(attrs, containerDeviceAttrs()...)
	return steps.Schema{Attrs: append(attrs, containerFileAttrs()...)}
}

// containerProgramAttrs say what is run.
func containerProgramAttrs() []steps.Attr {
	texts := cty.List(cty.String)
	return []steps.Attr{
		{Name: "entrypoint", Type: texts, Doc: "Words before the engine's arguments, instead of the engine's own program. Older vLLM images " +
			"need [\"python3\", \"-m\", \"vllm.entrypoints.openai.api_server\"]. The image's entrypoint is replaced."},
		{Name: "pull", Type: cty.String, Enum: enum.Values{{Name: steps.PullMissing, Doc: "if the daemon does not have it; unless set"},
			{Name: steps.PullAlways, Doc: "once for each session"}, {Name: steps.PullNever}}, Doc: "When to pull the image."},
		{Name: "platform", Type: cty.String, Doc: "Platform of the image, for example linux/arm64; the daemon's own unless set."},
		{Name: "workdir", Type: cty.String, Rule: steps.Matching("^/", "must be an absolute path of the container", ""),
			Doc: "Working directory in the container; the image's own unless set."},
		{Name: "user", Type: cty.String, Doc: "User, or user:group, that the server runs as; the image's own unless set."},
		{Name: "init", Type: cty.Bool,
			Doc: "Run a small init as process 1 that forwards signals and reaps processes. It is on unless set to false."},
		{Name: "labels", Type: cty.Map(cty.String), Doc: "Labels of the container. Names that begin with dev.pipeline. belong to this program."},
	}
}

// containerResourceAttrs say what it shares with the machine and what it may use.
func containerResourceAttrs() []steps.Attr {
	texts := cty.List(cty.String)
	return []steps.Attr{
		{Name: "network", Type: cty.String, Doc: "bridge (the default: the port is published on 127.0.0.1), host, or the name of a network " +
			"that exists. With bridge a proxy forwards every byte; host measures without it, and RDMA needs it."},
		{Name: "ipc", Type: cty.String, Enum: enum.Of("host", "private", "shareable", "none"),
			Doc: "IPC namespace. Tensor parallelism needs host, or a shm_size."},
		{Name: "pid", Type: cty.String, Enum: enum.Of("host"), Doc: "PID namespace; host needs the permission for privileged containers."},
		{Name: "shm_size", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitBytes,
			Doc: "Size of /dev/shm, for example 16GiB; Docker's default of 64MiB is too small for NCCL."},
		{Name: "memory", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitBytes,
			Doc: "Limit of the memory of the machine that the server may use."},
		{Name: "resources", Type: cty.Map(cty.String),
			Doc: "Requests and limits of the server's Pod beside its GPUs, by name, over those of the " +
				"kubernetes block: { cpu = \"16\", memory = \"64Gi\", \"rdma/hca\" = \"1\" }."},
		{Name: "requests", Type: cty.Map(cty.String),
			Doc: "Requests of the server's Pod that differ from its limits: { cpu = \"8\" } beside 16 in " +
				"resources reserves 8; without a limit in resources there is none, so that a server is never throttled."},
		{Name: "cpuset", Type: cty.String, Rule: coreList, Doc: "Cores that the server may use, for example 0-15,32-47."},
		{Name: "memset", Type: cty.String, Rule: coreList, Doc: "Memory nodes that the server may use, for example 0."},
		{Name: "ulimits", Type: cty.Map(cty.String),
			Doc: "Limits by name: a number, soft:hard, or unlimited. RDMA needs memlock = \"unlimited\"."},
		{Name: "cap_add", Type: texts, Doc: "Capabilities to add, for example IPC_LOCK for RDMA."},
		{Name: "cap_drop", Type: texts, Doc: "Capabilities to drop."},
		{Name: "security_opt", Type: texts, Doc: "Security options, for example seccomp=unconfined, which ROCm needs."},
		{Name: "group_add", Type: texts, Doc: "Further groups of the server's user, for example video and render."},
		{Name: "privileged", Type: cty.Bool, Doc: "All rights of the machine. It is refused unless the command line allows it."},
	}
}

// containerDeviceAttrs say which devices it gets.
func containerDeviceAttrs() []steps.Attr {
	return []steps.Attr{
		{Name: "gpus", Type: cty.DynamicPseudoType, Doc: "GPUs that the container gets: \"all\", a number, or a list of indices, UUIDs or CDI " +
			"names such as nvidia.com/gpu=0. The server's number of gpus unless set; UUIDs survive a reordering."},
		{Name: "devices", Type: cty.List(cty.String),
			Doc: "Device nodes or folders of them: /dev/infiniband, /dev/kfd, HOST:CONTAINER:rwm, or CDI names."},
		{Name: "runtime", Type: cty.String, Doc: "Runtime of the daemon, for example nvidia; its default unless set."},
	}
}

// containerFileAttrs say which files it sees.
func containerFileAttrs() []steps.Attr {
	return []steps.Attr{
		{Name: "mounts", Type: cty.List(cty.String), Doc: "Files and folders of the machine, as SOURCE:TARGET or SOURCE:TARGET:ro. A relative " +
			"source is meant from the pipeline file's folder. System folders are refused unless the command line allows them."},
		{Name: "volumes", Type: cty.Map(cty.String), Doc: "Volumes of the daemon by name, with the path in the container: { vllm-cache = " +
			"\"/root/.cache/vllm\" }. They are made when missing and stay, as caches should; append :ro to mount one read-only."},
		{Name: "tmpfs", Type: cty.Map(cty.String), Doc: "Folders in memory, with their mount options: { \"/scratch\" = \"size=8g\" }."},
	}
}
