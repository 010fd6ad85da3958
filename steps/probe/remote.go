package probe

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// remoteFiles are the files that facts.machine reads.
var remoteFiles = []string{
	"etc/os-release", "proc/sys/kernel/osrelease", "proc/cpuinfo", "proc/meminfo",
	"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "sys/fs/cgroup/cpu.max", "sys/devices/system/cpu/smt/active",
}

// remoteMark begins the line before each part of remoteScript's output. It does not occur in the files.
const remoteMark = "=-=pipeline=-= "

// remoteScript prints the files, and the output of uname, nproc and hostname.
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

// architectures maps uname's names to Go's where they differ.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// Remote describes the machine on which sp starts programs, with the keys of [Machine]. It needs only a shell
// there. It omits network devices and NUMA nodes.
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

// remoteParts splits the output of remoteScript.
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
