package steps

import (
	"slices"
	"strings"
)

// ContainerSpec describes how a server runs in a container. The command line, environment, port and signals
// are in the [Process]. [ReadContainer] reads it from a container block, and [ServerSpec.NewContainer]
// completes it.
type ContainerSpec struct {
	// Image to run: a name with a tag or digest, or an image ID.
	Image string
	// Platform such as linux/arm64; "" selects the daemon's.
	Platform string
	// Pull is one of the Pull constants; "" means PullMissing.
	Pull string

	// Entrypoint holds the words before the engine's arguments; nil selects the engine's default program. It
	// is part of Process.Argv once a process is rendered.
	Entrypoint []string
	// OwnEntrypoint is true if Process.Argv holds the arguments of the image's entrypoint. Otherwise
	// Process.Argv is the whole command line, and the image's entrypoint is not used.
	OwnEntrypoint bool
	// Workdir and User; "" selects the image's.
	Workdir, User string

	// Network is "" or NetworkBridge, NetworkHost, or the name of a network that exists.
	Network string
	// IPC and PID namespaces as Docker writes them: "host", "private", "shareable"; "" is
	// the daemon's default.
	IPC, PID string
	// ShmSize and Memory in bytes, 0 for the daemon's default (64 MiB) and for no limit.
	ShmSize, Memory int64
	// Resources of a Pod by name, as its requests and limits, and Requests of it that are no limits.
	Resources, Requests map[string]string `json:",omitempty"`
	// CPUSet and MemSet are lists of cores and memory nodes such as 0-15, "" for all.
	CPUSet, MemSet string

	Ulimits     []Ulimit
	CapAdd      []string
	CapDrop     []string
	SecurityOpt []string
	GroupAdd    []string
	Privileged  bool
	// NoInit leaves the server as process 1, without a process that reaps and forwards
	// signals.
	NoInit bool

	Devices []ContainerDevice
	// CDI names devices of the Container Device Interface, for example nvidia.com/gpu=0.
	CDI []string
	// GPUs requested from the daemon; nil if the file sets none.
	GPUs *GPURequest
	// Runtime of the daemon, for example nvidia; "" for its default.
	Runtime string

	Mounts  []Mount
	Volumes []Volume
	// Tmpfs maps paths of the container to mount options such as size=1g.
	Tmpfs map[string]string

	// Labels of the file. The launcher adds more.
	Labels map[string]string
}

// LabelPrefix is the prefix of the labels that launchers set.
const LabelPrefix = "dev.pipeline."

// When an image is pulled. An image that is named by its digest is pulled at most once.
const (
	PullMissing = "missing" // if the daemon does not have it
	PullAlways  = "always"  // once for each session, so that all launches run the same image
	PullNever   = "never"
)

// Networks that every daemon has.
const (
	// NetworkBridge is the default: the server's port is published on the loopback address.
	NetworkBridge = "bridge"
	// NetworkHost is the machine's network, without a proxy between client and server.
	NetworkHost = "host"
)

// GPURequest holds the GPUs that a container requests from its daemon, as docker run --gpus does.
type GPURequest struct {
	// Count of GPUs, AllGPUs for all. It is used if IDs is empty; 0 then requests none.
	Count int
	// IDs are indices or UUIDs.
	IDs []string
}

// AllGPUs is the count that requests every GPU of the machine.
const AllGPUs = -1

// Ulimit is a limit of the server's processes; -1 means unlimited.
type Ulimit struct {
	Name       string
	Soft, Hard int64
}

// ContainerDevice is a device node, or a folder of them, of the machine.
type ContainerDevice struct {
	Host, Container string
	// Permissions are any of r, w and m.
	Permissions string
}

// Mount is a file or folder of the machine. A relative Source is resolved against the pipeline file's folder.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// Volume is a volume of the daemon. It is created if it does not exist. It outlives the container, so that
// caches last longer than a launch.
type Volume struct {
	Name, Target string
	ReadOnly     bool
}

// NewContainer returns the container of a server, or nil for a server without an image. It is a copy of the
// container block's settings with the image and, unless the block sets GPUs, the server's number of GPUs.
// ROCm servers get their GPUs as devices (/dev/kfd), those of CDI by name; neither needs a request.
func (s ServerSpec) NewContainer() *ContainerSpec {
	if s.Image == "" {
		return nil
	}
	var c ContainerSpec
	if s.Container != nil {
		c = *s.Container
	}
	c.Image = s.Image
	c.Mounts, c.Volumes = slices.Clone(c.Mounts), slices.Clip(c.Volumes)
	for i, m := range c.Mounts {
		if s.Folder != "" && m.Source != "" {
			c.Mounts[i].Source = fromFolder(s.Folder, m.Source)
		}
	}
	for _, cache := range s.Caches {
		if cache.Volume != "" {
			c.Volumes = append(c.Volumes, Volume{Name: cache.Volume, Target: cache.Path})
		} else {
			c.Mounts = append(c.Mounts, Mount{Source: cache.Folder, Target: cache.Path})
		}
	}
	if c.GPUs == nil && s.GPUs > 0 && len(c.CDI) == 0 && !slices.ContainsFunc(c.Devices, ContainerDevice.isROCm) {
		c.GPUs = &GPURequest{Count: s.GPUs}
	}
	return &c
}

// Program returns the words before the engine's arguments that the file sets, with executable or the
// container's entrypoint. It returns nil if the file leaves the program to the engine.
func (s ServerSpec) Program() []string {
	if s.Image != "" && s.Container != nil {
		return s.Container.Entrypoint
	}
	return s.Executable
}

// ListenHost returns the address that a server must listen on to be reached at the loopback address: all
// addresses for a container with a separate network, else loopback.
func (s ServerSpec) ListenHost() string {
	if s.Listen != "" {
		return s.Listen
	}
	if s.Image != "" && (s.Container == nil || s.Container.Network != NetworkHost) {
		return "0.0.0.0"
	}
	return "127.0.0.1"
}

func (d ContainerDevice) isROCm() bool { return strings.HasPrefix(d.Host, "/dev/kfd") }
