package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Status is the result of a check.
type Status string

// The statuses.
const (
	OK      Status = "ok"
	Warn    Status = "warn"
	Missing Status = "missing"
)

// Check is one line of the diagnosis.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found is what the machine has, and Fix what to do if it is insufficient.
	Found string `json:"found"`
	Fix   string `json:"fix,omitempty"`
}

const gib = 1 << 30

// The required and recommended amounts.
const (
	// idleMemory is how much memory of a free GPU may be in use, by drivers and displays.
	idleMemory = 600 << 20
	// minOutSpace is the required disk space of a run directory, and recommendedOutSpace that for a long run.
	minOutSpace         = 1 * gib
	recommendedOutSpace = 10 * gib
	// recommendedImageSpace is the size of an engine's image, with some reserve.
	recommendedImageSpace = 40 * gib
	// recommendedShm is the shared memory for the workers of an engine.
	recommendedShm = 8 * gib
)

// Examine compares needs with facts. The checks come in the order in which to fix them.
func Examine(n Needs, f Facts) []Check {
	var out []Check
	out = append(out, programs(n, f)...)
	out = append(out, daemon(n, f)...)
	out = append(out, models(n, f)...)
	out = append(out, gpus(n, f)...)
	out = append(out, rdma(n, f)...)
	out = append(out, space(n, f)...)
	out = append(out, ports(n, f)...)
	return append(out, governor(f), locks(n, f))
}

// Preflight runs the checks that precede a run: those that no step fixes and no launcher makes.
func Preflight(n Needs, f Facts) []Check {
	return slices.Concat(gpus(n, f), rdma(n, f), space(n, f), ports(n, f))
}

// MissingError joins the missing items to an error, nil if there are none.
func MissingError(checks []Check) error {
	var errs []error
	for _, c := range checks {
		if c.Status == Missing {
			errs = append(errs, fmt.Errorf("%s: %s; %s", c.Name, c.Found, c.Fix))
		}
	}
	return errors.Join(errs...)
}

func programs(n Needs, f Facts) []Check {
	var out []Check
	for _, name := range n.Programs {
		c := Check{Name: "program " + name, Status: OK, Found: f.Programs[name]}
		if c.Found == "" {
			c.Status, c.Found = Missing, "not found in PATH"
			if strings.ContainsRune(name, '/') {
				c.Found = "is not there"
			}
			c.Fix = fmt.Sprintf(
				"install it, add its folder to PATH, or name it with its path in the file (a virtual environment's is VENV/bin/%s)", lastPart(name))
		}
		out = append(out, c)
	}
	return out
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func daemon(n Needs, f Facts) []Check {
	if n.File && !n.Containers() {
		return nil
	}
	if f.DockerErr != nil {
		c := Check{Name: "Docker", Status: Warn, Found: "no daemon answers",
			Fix: "install Docker and start it, or set DOCKER_HOST: servers with an image need one"}
		if n.Containers() {
			c.Status, c.Found = Missing, f.DockerErr.Error()
		}
		return []Check{c}
	}
	out := []Check{{Name: "Docker", Status: OK, Found: "version " + f.Docker.Version}}
	for _, image := range n.Images {
		has, asked := f.Docker.Images[image.Name]
		c := CheckImage(image, has)
		if !has && !asked {
			c.Found = "could not be asked for"
		}
		out = append(out, c)
	}
	if n.Containers() && n.WantsGPUs() && !f.Docker.NVIDIA && vendor(f) != probe.AMD {
		out = append(out, NoGPUsInContainers)
	}
	return out
}

// CheckImage returns the check of an image that a daemon has or lacks.
func CheckImage(image Image, has bool) Check {
	c := Check{Name: "image " + image.Name, Status: OK, Found: "is there"}
	switch {
	case has:
	case image.Never:
		c.Status, c.Found, c.Fix = Missing, "is not there, and pull is \"never\"", "build or load it first"
	default:
		c.Status, c.Found, c.Fix = Warn, "will be pulled", "docker pull "+image.Name+" beforehand, so that the run does not wait for it"
	}
	return c
}

// NoGPUsInContainers is the check of a daemon that cannot give GPUs to containers.
var NoGPUsInContainers = Check{
	Name: "GPUs in containers", Status: Warn, Found: "the daemon names neither the runtime nvidia nor devices of nvidia.com/gpu",
	Fix: "install the NVIDIA Container Toolkit, then: nvidia-ctk runtime configure --runtime=docker && systemctl restart docker",
}

func vendor(f Facts) string {
	if len(f.GPUs) == 0 {
		return ""
	}
	return f.GPUs[0].Vendor
}

// elsewhere reports whether the containers run on another machine, which is invisible from here.
func elsewhere(n Needs, f Facts) bool {
	return n.Containers() && f.DockerErr == nil && !f.Docker.Local
}

func gpus(n Needs, f Facts) []Check {
	if elsewhere(n, f) {
		return []Check{{Name: "GPUs", Status: Warn, Found: "those of the daemon's machine cannot be seen from here, nor its networks and ports",
			Fix: "run pipeline doctor on it"}}
	}
	if len(f.GPUs) == 0 {
		return []Check{noGPU(n, f)}
	}
	out := []Check{{Name: "GPUs", Status: OK, Found: fmt.Sprintf("%d: %s, driver %s", len(f.GPUs), names(f.GPUs), f.GPUs[0].Driver)}}
	used := map[string]bool{}
	for _, t := range n.Targets {
		selected, sure, err := Select(t.GPUs, f.GPUs)
		if err != nil {
			out = append(out, Check{Name: "GPUs of " + t.Addr, Status: Missing, Found: err.Error(),
				Fix: "ask for fewer or for others in the file, or run it on another machine"})
		}
		if !sure && slices.ContainsFunc(t.GPUs, func(r Request) bool { return r.Maybe }) {
			continue // it may use none
		}
		for _, g := range selected {
			used[g.UUID] = true
		}
	}
	for _, g := range f.GPUs {
		if used[g.UUID] || !n.File {
			out = append(out, state(g, f, n.File)...)
		}
	}
	return out
}

// noGPU returns the check of a machine without GPUs.
func noGPU(n Needs, f Facts) Check {
	c := Check{Name: "GPUs", Status: OK, Found: "none is asked for"}
	if !n.File {
		c.Found = "none"
	}
	if !n.WantsGPUs() {
		return c
	}
	c.Status, c.Found = Missing, wanted(n)+", found 0 on this machine"
	c.Fix = "run on a machine with GPUs, or rehearse with --simulate; if this one has some, install the driver: nvidia-smi or rocm-smi must " +
		"list them"
	if f.GPUErr != nil && n.Containers() {
		// If this program runs in a container, the daemon may still have GPUs.
		c.Status, c.Found = Warn, c.Found+": neither nvidia-smi nor rocm-smi can be asked"
	}
	return c
}

// maxWanted is the largest number of targets to name.
const maxWanted = 3

// wanted describes how many GPUs the targets need.
func wanted(n Needs) string {
	var parts []string
	for _, t := range n.Targets {
		count := 0
		for _, r := range t.GPUs {
			if !r.Maybe {
				count += max(len(r.IDs), r.Count, 1)
			}
		}
		if count > 0 {
			parts = append(parts, t.Addr+" needs "+humanize.Count(count, "GPU"))
		}
	}
	if more := len(parts) - maxWanted; more > 0 {
		parts = append(parts[:maxWanted], fmt.Sprintf("%d more need some", more))
	}
	return strings.Join(parts, ", ")
}

func names(list []probe.GPU) string {
	var out []string
	for _, g := range list {
		if !slices.Contains(out, g.Name) {
			out = append(out, g.Name)
		}
	}
	return strings.Join(out, ", ")
}

// state returns reasons not to measure on a GPU now.
func state(g probe.GPU, f Facts, needed bool) []Check {
	var out []Check
	add := func(status Status, found, fix string) {
		out = append(out, Check{Name: g.String(), Status: status, Found: found, Fix: fix})
	}
	var users []string
	for _, p := range f.Processes {
		if p.GPU == g.UUID {
			users = append(users, p.String())
		}
	}
	switch {
	case g.MemoryUsed > idleMemory:
		status := Warn
		if needed {
			status = Missing
		}
		found := bytesText(g.MemoryUsed) + " of its memory are in use"
		if len(users) > 0 {
			found += " by " + strings.Join(users, ", ")
		}
		add(status, found, "end what uses it (`pipeline cleanup` ends what killed runs have left), or ask for another GPU")
	case len(users) > 0:
		add(Warn, "is used by "+strings.Join(users, ", "), "end it: whatever computes there meanwhile makes figures worse")
	}
	if g.Persistence == "Disabled" {
		add(Warn, "persistence mode is off", "nvidia-smi -pm 1: otherwise the driver may reload between two launches")
	}
	if t := g.Slowdown.Throttling(); t != 0 {
		add(Warn, "is throttled: "+t.String(), "let it cool down, and look at its fans and power supply: runs on a throttled GPU are void")
	}
	if g.MIG == "Enabled" {
		add(Warn, "is split by MIG", "name the instances by their UUIDs: indices mean whole GPUs")
	}
	return out
}

func rdma(n Needs, f Facts) []Check {
	if !n.RDMA || elsewhere(n, f) {
		return nil
	}
	var active []string
	for _, nic := range f.NICs {
		if nic.RDMA && nic.Active {
			active = append(active, nic.Name)
		}
	}
	const fix = "ibstat or rdma link shows the ports; bring the link up, name other devices, or declare another transport"
	c := Check{Name: "RDMA", Status: OK, Found: "active: " + strings.Join(active, ", ")}
	if len(active) == 0 {
		c.Status, c.Found, c.Fix = Missing, "no device has an active port, and a transfer declares rdma", fix
	}
	for _, name := range n.RDMADevices {
		if len(active) > 0 && !slices.Contains(active, name) {
			c.Status, c.Found, c.Fix = Missing, fmt.Sprintf("%s has no active port (active: %s)", name, strings.Join(active, ", ")), fix
		}
	}
	out := []Check{c}
	if n.LockedMemory && f.LockedMemory >= 0 && f.LockedMemory < gib {
		out = append(out, Check{Name: "locked memory", Status: Warn, Found: "limited to " + bytesText(f.LockedMemory),
			Fix: "ulimit -l unlimited for the runner: RDMA registers the KV cache's memory"})
	}
	if vendor(f) == probe.NVIDIA && !f.PeerMemory {
		out = append(out, Check{Name: "RDMA with GPUs", Status: Warn, Found: "the module nvidia_peermem is not loaded",
			Fix: "modprobe nvidia_peermem, unless the driver and the device use DMA-BUF"})
	}
	return out
}

func space(n Needs, f Facts) []Check {
	out := []Check{{Name: "disk for results", Status: OK, Found: bytesText(f.OutFree) + " free"}}
	switch {
	case f.OutFree < 0:
	case f.OutFree < minOutSpace:
		out[0].Status, out[0].Fix = Missing, "free at least 1 GiB, or name another folder with --out"
	case f.OutFree < recommendedOutSpace:
		out[0].Status, out[0].Fix = Warn, "records, logs and metrics of a long run take several GiB"
	}
	if f.DockerFree >= 0 && n.Containers() {
		c := Check{Name: "disk for images", Status: OK, Found: bytesText(f.DockerFree) + " free"}
		if f.DockerFree < recommendedImageSpace && mustPull(n, f) {
			c.Status, c.Fix = Warn, "an engine's image takes 20 GiB and more: docker image prune, or move the daemon's data-root"
		}
		out = append(out, c)
	}
	if several(n) && !elsewhere(n, f) && f.ShmFree >= 0 && f.ShmFree < recommendedShm {
		out = append(out, Check{Name: "/dev/shm", Status: Warn, Found: bytesText(f.ShmFree) + " free",
			Fix: "mount -o remount,size=16g /dev/shm: workers of several GPUs exchange data there"})
	}
	return out
}

// mustPull reports whether the daemon lacks an image.
func mustPull(n Needs, f Facts) bool {
	return slices.ContainsFunc(n.Images, func(image Image) bool { return !f.Docker.Images[image.Name] })
}

// several reports whether a target uses more than one GPU.
func several(n Needs) bool {
	return slices.ContainsFunc(n.Targets, func(t Target) bool {
		return asked(t.GPUs) > 1 || slices.ContainsFunc(t.GPUs, func(r Request) bool { return r.Count == steps.AllGPUs && !r.Maybe })
	})
}

func ports(n Needs, f Facts) []Check {
	var out []Check
	if elsewhere(n, f) {
		return nil
	}
	for _, port := range n.Ports {
		c := Check{Name: fmt.Sprintf("port %d", port), Status: OK, Found: "free"}
		if slices.Contains(f.BusyPorts, port) {
			c.Status, c.Found = Missing, "is in use"
			c.Fix = fmt.Sprintf("end it (ss -ltnp 'sport = :%d' names it), or leave port out of the file: a free one is chosen then", port)
		}
		out = append(out, c)
	}
	return out
}

func governor(f Facts) Check {
	c := Check{Name: "processor clocks", Status: OK, Found: f.Governor}
	switch f.Governor {
	case "":
		c.Found = "unknown"
	case "performance":
	default:
		c.Status, c.Fix = Warn, "cpupower frequency-set -g performance: short requests are slower while clocks rise"
	}
	return c
}

func locks(n Needs, f Facts) Check {
	c := Check{Name: "locks of GPUs", Status: OK, Found: "in " + f.LockDir}
	if f.LockErr != nil {
		c.Status, c.Found, c.Fix = Warn, f.LockErr.Error(),
			"make /run/lock/pipeline with mode 1777, so that runs of different users wait for each other"
		if n.WantsGPUs() {
			c.Status = Missing
		}
	}
	return c
}
