package probe

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// remoteFiles are those that facts.machine reads.
var remoteFiles = []string{
	"etc/os-release", "proc/sys/kernel/osrelease", "proc/cpuinfo", "proc/meminfo",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "sys/fs/cgroup/cpu.max", "sys/devices/system/cpu/smt/active",
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
		part(f, "cat /"+f)
	}
	for _, c := range []string{"uname -m", "nproc", "hostname"} {
		part(c, c)
	}
	return strings.Join(append(parts, "true"), "; ")
}

// architectures by what uname calls them, where Go has another name.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// Remote describes the machine on which sp starts programs, by the keys of [Machine]. It
// needs a shell there and nothing of ours. Network devices and NUMA nodes are not reported.
func Remote(ctx context.Context, sp steps.Spawner) (map[string]string, error) {
	out, err := run(ctx, sp, "sh", "-c", remoteScript())
	if err != nil {
		return nil, fmt.Errorf("describing the machine: %w", err)
	}
	parts := remoteParts(string(out))
	arch := strings.TrimSpace(parts["uname -m"])
	if name, ok := architectures[arch]; ok {
		arch = name
	}
	f := facts{}
	f.machine(func(path string) string { return parts[path] }, arch, strings.TrimSpace(parts["hostname"]), parts["nproc"])
	gpus(ctx, sp, f)
	maps.DeleteFunc(f, func(_, v string) bool { return v == Unavailable })
	return f, nil
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
