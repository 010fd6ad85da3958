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
)

// Facts are what was found on the machine.
type Facts struct {
	GPUs      []probe.GPU
	Processes []probe.Process
	GPUErr    error // why nothing is known of GPUs
	NICs      []probe.NIC
	Docker    Daemon
	DockerErr error // why nothing is known of the daemon
	// Programs that were looked for: where they are, "" if nowhere.
	Programs map[string]string
	// Free space in bytes, Unknown if the system does not say.
	OutFree, DockerFree, ShmFree int64
	// LockedMemory is our limit in bytes, Unlimited without one.
	LockedMemory int64
	// BusyPorts are those of the file that are in use.
	BusyPorts []int
	Governor  string
	// Modules of the kernel that RDMA with GPUs needs.
	PeerMemory bool
	// LockDir is where locks of GPUs are kept; LockErr says why they cannot be.
	LockDir string
	LockErr error
}

// Daemon is what a Docker daemon answered.
type Daemon struct {
	Version string
	// RootDir holds its images and containers, on its own machine.
	RootDir string
	// Local is set if its machine is this one.
	Local bool
	// NVIDIA is set if it can give NVIDIA's GPUs to containers.
	NVIDIA bool
	// Images that it has, by name; one that could not be asked for is absent.
	Images map[string]bool
}

// Unlimited is a limit that is none.
const Unlimited = -2

// Options say how facts are gathered.
type Options struct {
	// Spawner starts nvidia-smi and the like.
	Spawner steps.Spawner
	// Prober, if not nil, is asked in place of one that Spawner would make.
	Prober *probe.Prober
	// Daemon asks the Docker daemon, also for images.
	Daemon func(ctx context.Context, images []string) (Daemon, error)
	// Out is the folder below which run directories are made.
	Out string
	// Dir is the pipeline file's folder: programs with a path are meant from there.
	Dir string
	// Locks finds the folder of locks.
	Locks func() (string, error)
}

// Gather finds out what Examine compares with needs.
func Gather(ctx context.Context, n Needs, opt Options) Facts {
	root := os.DirFS("/")
	f := Facts{
		NICs:     probe.NICs(os.DirFS("/sys")),
		OutFree:  freeBelow(opt.Out),
		ShmFree:  free("/dev/shm"),
		Governor: strings.TrimSpace(content(root, "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
		Programs: map[string]string{}, DockerFree: probe.Unknown,
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
	return f
}

// askDaemon asks the daemon, if one is needed or there is one.
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

// lookPath finds a program as a launch would, "" if there is none.
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

// freeBelow is the free space where a folder is, or would be.
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
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			found = append(found, port)
			continue
		}
		_ = l.Close() // nothing was accepted
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
