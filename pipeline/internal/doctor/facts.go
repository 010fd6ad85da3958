package doctor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
	"github.com/servegate/pipeline/steps/process"
)

// Facts describes the machine.
type Facts struct {
	GPUs      []probe.GPU
	Processes []probe.Process
	GPUErr    error // why the GPUs are unknown
	NICs      []probe.NIC
	Docker    Daemon
	DockerErr error // why the daemon is unknown
	// Programs maps the programs looked for to their paths, "" if not found.
	Programs map[string]string
	// Models maps the models looked for to where they are.
	Models map[Model]Weights
	// Free space in bytes, Unknown if not reported.
	OutFree, DockerFree, ShmFree int64
	// LockedMemory is our limit in bytes, or Unlimited.
	LockedMemory int64
	// BusyPorts lists the ports of the file that are in use.
	BusyPorts []int
	Governor  string
	// PeerMemory means that the kernel module for RDMA with GPUs is loaded.
	PeerMemory bool
	// LockDir is the folder of GPU locks, and LockErr why it is unavailable.
	LockDir string
	LockErr error
}

// Daemon holds the answers of a Docker daemon.
type Daemon struct {
	Version string
	// RootDir is the folder with its images and containers, on its machine.
	RootDir string
	// Local means that it runs on this machine.
	Local bool
	// NVIDIA means that it can give NVIDIA's GPUs to containers.
	NVIDIA bool
	// Images maps names to whether it has the image; an image that could not be queried is absent.
	Images map[string]bool
}

// Unlimited means no limit.
const Unlimited = -2

// Options configure how facts are gathered.
type Options struct {
	// Spawner starts nvidia-smi and similar programs.
	Spawner steps.Spawner
	// Prober, if not nil, replaces one made from Spawner.
	Prober *probe.Prober
	// Daemon queries the Docker daemon, including its images.
	Daemon func(ctx context.Context, images []string) (Daemon, error)
	// Out is the parent folder of run directories.
	Out string
	// Hub is the folder of the hub's client, which has what processes download.
	Hub string
	// Dir is the pipeline file's folder, against which program paths are resolved.
	Dir string
	// Locks returns the lock folder.
	Locks func() (string, error)
}

// Gather collects the facts for Examine.
func Gather(ctx context.Context, n Needs, opt Options) Facts {
	root := os.DirFS("/")
	f := Facts{
		NICs:     probe.NICs(os.DirFS("/sys")),
		OutFree:  freeBelow(opt.Out),
		ShmFree:  free("/dev/shm"),
		Governor: strings.TrimSpace(content(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
		Programs: map[string]string{}, Models: map[Model]Weights{}, DockerFree: probe.Unknown,
		LockedMemory: lockedMemory(), BusyPorts: busyPorts(n.Ports),
		PeerMemory: strings.Contains(content(root, "proc/modules"), "nvidia_peermem"),
	}
	if opt.Locks != nil {
		f.LockDir, f.LockErr = opt.Locks()
	}
	if !n.File || n.MayUseGPUs() {
		prober := opt.Prober
		if prober == nil {
			prober = probe.New(opt.Spawner)
		}
		s := prober.Snapshot(ctx)
		f.GPUs, f.Processes, f.GPUErr = s.GPUs, s.Processes, s.Err
	}
	for _, name := range n.Programs {
		f.Programs[name] = lookPath(name, opt.Dir)
	}
	f.askDaemon(ctx, n, opt.Daemon)
	for _, m := range n.Models {
		f.Models[m] = f.weights(m, opt.Hub)
	}
	return f
}

// askDaemon queries the daemon if the file needs one, or if no file is given.
func (f *Facts) askDaemon(ctx context.Context, n Needs, ask func(context.Context, []string) (Daemon, error)) {
	if n.File && !n.Containers() {
		return
	}
	var images []string
	for _, image := range n.Images {
		images = append(images, image.Name)
	}
	if f.Docker, f.DockerErr = ask(ctx, images); f.DockerErr == nil && f.Docker.Local {
		f.DockerFree = freeBelow(f.Docker.RootDir)
	}
}

// lookPath finds a program as a launch would, "" if not found.
func lookPath(name, dir string) string {
	if strings.ContainsRune(name, filepath.Separator) && !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return ""
	}
	return path
}

// freeBelow returns the free space for a folder that may not exist yet.
func freeBelow(dir string) int64 {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return probe.Unknown
	}
	for {
		if n := free(dir); n != probe.Unknown {
			return n
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return probe.Unknown
		}
		dir = parent
	}
}

// busyPorts returns the ports that cannot be listened on.
func busyPorts(ports []int) []int {
	var found []int
	for _, port := range ports {
		if process.Probe(net.JoinHostPort("127.0.0.1", strconv.Itoa(port))) != nil {
			found = append(found, port)
		}
	}
	slices.Sort(found)
	return found
}

func bytesText(n int64) string {
	switch {
	case n == Unlimited:
		return "unlimited"
	case n < 0:
		return "unknown"
	case n >= 1<<40:
		return fmt.Sprintf("%.1f TiB", float64(n)/(1<<40))
	}
	return probe.Bytes(n)
}
