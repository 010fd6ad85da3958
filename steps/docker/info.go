package docker

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// Info describes a daemon.
type Info struct {
	Version string
	// RootDir is the folder with its images and containers, on its machine.
	RootDir string
	// Local means that it runs on this machine.
	Local bool
	// NVIDIA means that it can give NVIDIA's GPUs to containers, by a runtime of that name or by the Container
	// Device Interface (CDI). A daemon without either may still do so by a hook, which it does not report.
	NVIDIA bool
	// GPUs is the number of NVIDIA's GPUs known to CDI; 0 without CDI, or if the daemon does not report them.
	GPUs int
	// CPUs, MemoryBytes, Kernel, OS and Arch of its machine.
	CPUs             int
	MemoryBytes      int64
	Kernel, OS, Arch string
}

// Inspect queries the daemon at host. It returns an error if the daemon does not answer.
func Inspect(ctx context.Context, host string) (Info, error) {
	d, err := connect(host)
	if err != nil {
		return Info{}, err
	}
	if err := d.ping(ctx); err != nil {
		return Info{}, err
	}
	var answer struct {
		ServerVersion, DockerRootDir string
		Runtimes                     map[string]any
		DiscoveredDevices            []struct{ ID string }

		NCPU                                         int
		MemTotal                                     int64
		KernelVersion, OperatingSystem, Architecture string
	}
	if err := d.get(ctx, "/info", nil, &answer); err != nil {
		return Info{}, err
	}
	out := Info{
		Version: answer.ServerVersion, RootDir: answer.DockerRootDir, Local: d.local,
		CPUs: answer.NCPU, MemoryBytes: answer.MemTotal, Kernel: answer.KernelVersion, OS: answer.OperatingSystem, Arch: answer.Architecture,
	}
	_, out.NVIDIA = answer.Runtimes["nvidia"]
	for _, device := range answer.DiscoveredDevices {
		gpu, ok := strings.CutPrefix(device.ID, "nvidia.com/gpu")
		out.NVIDIA = out.NVIDIA || ok
		if _, err := strconv.Atoi(strings.TrimPrefix(gpu, "=")); ok && err == nil { // otherwise it means all GPUs, or one by another name
			out.GPUs++
		}
	}
	return out, nil
}

// HasImage reports whether the daemon at host has an image, given by name, digest or ID.
func HasImage(ctx context.Context, host, image string) (bool, error) {
	if err := checkImageName(image); err != nil {
		return false, err
	}
	d, err := connect(host)
	if err != nil {
		return false, err
	}
	name := image
	if !strings.HasPrefix(image, "sha256:") {
		name = parseReference(image).canonical()
	}
	_, err = d.inspectImage(ctx, image, name)
	if status(err) == http.StatusNotFound {
		return false, nil
	}
	return err == nil, err
}

// IsLocal reports whether the daemon at host runs on this machine, so that this machine's devices and files are
// those of its containers.
func IsLocal(host string) bool {
	d, err := connect(host)
	return err == nil && d.local
}
