package probe

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// remoteFiles are what a description of another machine is made from.
var remoteFiles = []string{
	"/etc/os-release", "/proc/sys/kernel/osrelease", "/proc/cpuinfo", "/proc/meminfo",
	"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "/sys/fs/cgroup/cpu.max", "/sys/devices/system/cpu/smt/active",
}

// remoteMark begins the line before each part of what remoteScript writes. It is no line of
// any of the files.
const remoteMark = "=-=pipeline=-= "

// remoteScript writes the files, and what uname, nproc and hostname say.
func remoteScript() string {
	var parts []string
	part := func(name, command string) {
		parts = append(parts, "echo; echo '"+remoteMark+name+"'; "+command+" 2>/dev/null")
	}
	for _, f := range remoteFiles {
		part(f, "cat "+f)
	}
	for _, c := range []string{"uname -m", "nproc", "hostname"} {
		part(c, c)
	}
	return strings.Join(append(parts, "true"), "; ")
}

// architectures by what uname calls them, where Go has another name.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// Remote describes the machine on which sp starts programs, by the keys of [Machine]. It
// needs a shell there and nothing of ours. Network devices and NUMA nodes are not told.
func Remote(ctx context.Context, sp steps.Spawner) (map[string]string, error) {
	out, err := run(ctx, sp, "sh", "-c", remoteScript())
	if err != nil {
		return nil, fmt.Errorf("describing the machine: %w", err)
	}
	parts := remoteParts(string(out))
	cpu := parseCPUInfo(parts["/proc/cpuinfo"])
	f := facts{}
	f.set("os", osName(parts["/etc/os-release"]))
	f.set("kernel", parts["/proc/sys/kernel/osrelease"])
	arch := strings.TrimSpace(parts["uname -m"])
	if name, ok := architectures[arch]; ok {
		arch = name
	}
	f.set("arch", arch)
	f.set("host", hash(strings.TrimSpace(parts["hostname"])))
	f.set("cpu_model", cpu.model)
	f.set("cpus", parts["nproc"])
	f.set("cpu_sockets", count(cpu.sockets))
	f.set("cpu_governor", parts["/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"])
	f.set("cpu_limit", parts["/sys/fs/cgroup/cpu.max"])
	f.set("smt", parts["/sys/devices/system/cpu/smt/active"])
	f.set("memory_gib", memory(parts["/proc/meminfo"]))
	gpus(ctx, sp, f)
	known := maps.Clone(f)
	maps.DeleteFunc(known, func(_, v string) bool { return v == Unavailable })
	return known, nil
}

// remoteParts takes apart what remoteScript has written.
func remoteParts(text string) map[string]string {
	parts := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, remoteMark); ok {
			name = strings.TrimSpace(rest)
			continue
		}
		if name != "" {
			parts[name] += line
		}
	}
	return parts
}
