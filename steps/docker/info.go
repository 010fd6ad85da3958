package docker

import (
	"context"
	"net/http"
	"strconv"
	"strings"
)

// Info is what a daemon says of itself.
type Info struct {
	Version string
	// RootDir holds its images and containers, on its own machine.
	RootDir string
	// Local says that its machine is this one.
	Local bool
	// NVIDIA says that it knows how to give containers NVIDIA's GPUs: by a runtime of that
	// name or by the Container Device Interface. A daemon that knows neither may still do
	// so by a hook, which it does not report.
	NVIDIA bool
	// GPUs is how many of NVIDIA's the Container Device Interface has there; 0 where it has none, or the daemon
	// does not tell.
	GPUs int
	// CPUs and MemoryBytes of its machine, with its Kernel, OS and Arch.
	CPUs             int
	MemoryBytes      int64
	Kernel, OS, Arch string
}

// Inspect asks the daemon at host what it is. An error says that it does not answer.
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
		if _, err := strconv.Atoi(strings.TrimPrefix(gpu, "=")); ok && err == nil { // or it is all of them, or one by another name
			out.GPUs++
		}
	}
	return out, nil
}

// HasImage reports whether the daemon at host has an image, by name, digest or ID.
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

// IsLocal reports whether the daemon at host runs on this machine, so that what is seen of
// the machine's devices and files holds for its containers.
func IsLocal(host string) bool {
	d, err := connect(host)
	return err == nil && d.local
}
