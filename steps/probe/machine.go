package probe

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Unavailable is the value of an unknown fact.
const Unavailable = "unavailable"

// maxFact is the largest length of a value in bytes.
const maxFact = 200

// Machine describes this machine. The keys are:
//
//	os, kernel, arch, host          host is a hash of the name, to distinguish machines
//	cpu_model, cpus, cpu_sockets    cpus available to this process
//	cpu_governor, cpu_limit, smt    limit as the control group's "quota period", "max" for none
//	memory_gib, numa_nodes
//	nics                            physical devices that are up: "2 x RDMA InfiniBand 400 Gb/s"
//	gpu_count, gpu_name, gpu_memory_mib, gpu_driver, gpu_power_limit_w, gpu_max_clock_mhz,
//	gpu_pcie_gen, gpu_pcie_width, gpu_mig, gpu_ecc, gpu_persistence, gpu_topology, gpu_links
//
// If GPUs differ, their values are joined by "; " in the order of nvidia-smi. gpu_topology is a hash of the
// matrix of `nvidia-smi topo -m`; gpu_links lists the kinds of connections between its GPUs ("NV18"). For AMD's
// GPUs, count, name, memory and driver are known. UUIDs are not facts, because a cloud's machines of one kind
// have different ones.
//
// The keys are stable, because stored results are compared by them.
func Machine(ctx context.Context, sp steps.Spawner) map[string]string {
	name, err := os.Hostname()
	if err != nil {
		name = ""
	}
	facts := host(os.DirFS("/"), name)
	gpus(ctx, sp, facts)
	return facts
}

// facts holds the description while it is built.
type facts map[string]string

// set stores a value, Unavailable if it is empty.
func (f facts) set(key, value string) {
	f[key] = cmp.Or(line(value), Unavailable)
}

// machine sets the facts that are found in the same way on any machine, here or remote. read returns a file by
// its path without the leading slash, "" if unreadable. The other parameters come from commands.
func (f facts) machine(read func(path string) string, arch, hostname, cpus string) {
	cpu := parseCPUInfo(read("proc/cpuinfo"))
	f.set("os", osName(read("etc/os-release")))
	f.set("kernel", read("proc/sys/kernel/osrelease"))
	f.set("arch", arch)
	f.set("host", hash(hostname))
	f.set("cpu_model", cpu.model)
	f.set("cpus", cpus)
	f.set("cpu_sockets", count(cpu.sockets))
	f.set("cpu_governor", read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"))
	f.set("cpu_limit", read("sys/fs/cgroup/cpu.max"))
	f.set("smt", read("sys/devices/system/cpu/smt/active"))
	f.set("memory_gib", memory(read("proc/meminfo")))
}

// host describes this machine, except its GPUs.
func host(root fs.FS, hostname string) facts {
	f := facts{}
	f.machine(func(path string) string { return read(root, path) }, runtime.GOARCH, hostname, strconv.Itoa(runtime.NumCPU()))
	nodes, _ := fs.Glob(root, "sys/devices/system/node/node[0-9]*") // the pattern is valid
	f.set("numa_nodes", count(len(nodes)))
	if sys, err := fs.Sub(root, "sys"); err == nil {
		f.set("nics", nicFact(NICs(sys)))
	}
	return f
}

// read returns a system file, "" if unreadable.
func read(root fs.FS, path string) string {
	data, err := fs.ReadFile(root, path)
	if err != nil {
		return ""
	}
	return string(data)
}

func count(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// hash shortens a text that is compared, not read.
func hash(text string) string {
	if text == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:6])
}

type cpuInfo struct {
	model   string
	sockets int
}

// parseCPUInfo parses /proc/cpuinfo. ARM has no model name, so it uses the part numbers instead.
func parseCPUInfo(text string) cpuInfo {
	var c cpuInfo
	var implementer, part string
	sockets := map[string]struct{}{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "model name":
			c.model = value
		case "CPU implementer":
			implementer = value
		case "CPU part":
			part = value
		case "physical id":
			sockets[value] = struct{}{}
		}
	}
	if c.model == "" && implementer != "" {
		c.model = "implementer " + implementer + " part " + part
	}
	c.sockets = len(sockets)
	return c
}

func osName(release string) string {
	for line := range strings.Lines(release) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(value, `"'`)
		}
	}
	return runtime.GOOS
}

// memory returns the total in GiB with one decimal. The kernel's own share varies between boots, so more digits
// would make equal machines look different.
func memory(meminfo string) string {
	for line := range strings.Lines(meminfo) {
		value, ok := strings.CutPrefix(line, "MemTotal:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
		if err != nil {
			return ""
		}
		return strconv.FormatFloat(float64(kib)/(1<<20), 'f', 1, 64)
	}
	return ""
}
