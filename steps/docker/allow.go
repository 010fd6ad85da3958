package docker

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// ErrRefused reports that a container would get rights over the machine that were not allowed.
// A pipeline file can come from a pull request; the command line cannot.
var ErrRefused = errors.New("refused")

// Allow says which rights over the machine containers may get. The zero value allows
// none.
type Allow struct {
	// Privileged allows privileged containers and what amounts to it: capabilities and
	// devices beyond those that inference servers need, the machine's PID namespace, and
	// switching off the confinement.
	Privileged bool
	// HostMounts allows the root and the system folders of the machine.
	HostMounts bool
	// DockerSocket allows the sockets of container daemons, which are as good as root.
	DockerSocket bool
}

// check refuses what is not allowed, naming the setting.
func (a Allow) check(c *steps.ContainerSpec) error {
	if a.Privileged {
		return nil
	}
	var found []error
	for _, what := range privileges(c) {
		found = append(found, fmt.Errorf("%w: %s gives the container rights over the machine; allow privileged containers if it must be",
			ErrRefused, what))
	}
	return errors.Join(found...)
}

// harmless are capabilities that inference servers need, and those that Docker gives
// anyway. Everything else can lead out of the container.
var harmless = []string{
	"IPC_LOCK", "SYS_RESOURCE", "SYS_NICE", "SYS_PTRACE",
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
	"NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

// accelerators are the beginnings of device nodes of GPUs, of RDMA, and of the copy
// engines between them. A block device or /dev/mem is the whole machine.
var accelerators = []string{
	"/dev/infiniband", "/dev/nvidia", "/dev/gdrdrv", "/dev/kfd", "/dev/dri", "/dev/accel",
	"/dev/habanalabs", "/dev/davinci", "/dev/hisi_hdc", "/dev/devmm_svm", "/dev/neuron",
	"/dev/xpmem", "/dev/knem", "/dev/dxg", "/dev/null", "/dev/zero", "/dev/shm",
}

// privileges lists the settings that amount to a privileged container.
func privileges(c *steps.ContainerSpec) []string {
	var out []string
	if c.Privileged {
		out = append(out, "privileged")
	}
	if c.PID != "" && c.PID != "private" {
		out = append(out, fmt.Sprintf("pid = %q", c.PID))
	}
	if strings.HasPrefix(c.Network, "container:") || strings.HasPrefix(c.IPC, "container:") {
		out = append(out, "a namespace of another container")
	}
	for _, name := range c.CapAdd {
		if !slices.Contains(harmless, strings.TrimPrefix(strings.ToUpper(name), "CAP_")) {
			out = append(out, "capability "+name)
		}
	}
	for _, d := range c.Devices {
		if path := filepath.Clean(d.Host); !slices.ContainsFunc(accelerators, func(prefix string) bool { return within(path, prefix) }) {
			out = append(out, "device "+d.Host)
		}
	}
	for _, o := range c.SecurityOpt {
		if confines(o) {
			continue
		}
		out = append(out, "security_opt "+o)
	}
	return out
}

// within reports whether path is prefix, below it, or one of its numbered nodes
// (/dev/nvidia0, /dev/nvidia-uvm).
func within(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9')
}

// confines reports whether a security option leaves the container confined. The system
// call filter may be switched off, as ROCm asks for: capabilities still hold.
func confines(option string) bool {
	return option == "seccomp=unconfined" || option == "seccomp:unconfined" || option == "seccomp=builtin" ||
		strings.HasPrefix(option, "no-new-privileges")
}

// systemFolders of the machine. What is below them is theirs too.
var systemFolders = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
	"/var/run", "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/kubelet", "/var/spool",
}

// wholeFolders hold other people's files: they themselves are refused, folders below
// them are fine.
var wholeFolders = []string{"/", "/home", "/root", "/var", "/var/lib", "/opt", "/srv", "/mnt", "/media"}

// harmlessBelow are parts of system folders that servers are commonly given.
var harmlessBelow = []string{"/dev/shm", "/dev/infiniband", "/dev/hugepages", "/etc/localtime", "/usr/share/zoneinfo",
	"/sys/class/infiniband"}

// checkMount refuses a source, given as a clean absolute path.
func (a Allow) checkMount(source string) error {
	if isSocket(source) && !a.DockerSocket {
		return fmt.Errorf("%w: the mount of %s hands the machine to the container; allow the socket of the daemon if it must be",
			ErrRefused, source)
	}
	if !a.HostMounts && !isSocket(source) && isSystem(source) {
		return fmt.Errorf("%w: the mount of %s shows the container the machine's own files; mount a folder of your own, or allow mounts of the "+
			"machine if it must be", ErrRefused, source)
	}
	return nil
}

// isSocket reports whether path is the socket of a container daemon.
func isSocket(path string) bool {
	switch filepath.Base(path) {
	case "docker.sock", "containerd.sock", "podman.sock", "crio.sock", "buildkitd.sock", "dockershim.sock":
		return true
	}
	return false
}

func isSystem(path string) bool {
	below := func(folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
	if slices.ContainsFunc(harmlessBelow, below) {
		return false
	}
	if home, ok := strings.CutPrefix(path, "/home/"); ok && !strings.Contains(home, "/") {
		return true // a whole home, with its keys
	}
	return slices.Contains(wholeFolders, path) || slices.ContainsFunc(systemFolders, below)
}

// checkMounts refuses sources by their name, and, on a local daemon, by where links lead.
// Between the check and the mount a link can change: whoever can change it has a shell on
// the machine already.
func (l *Launcher) checkMounts(c *steps.ContainerSpec) error {
	var found []error
	for _, m := range c.Mounts {
		source, err := l.source(m)
		if err != nil {
			return err
		}
		found = append(found, l.opt.Allow.checkMount(source))
		if !l.daemon.local {
			continue
		}
		real, err := filepath.EvalSymlinks(source)
		if err != nil {
			found = append(found, fmt.Errorf("mount %s: %w", m.Source, err))
			continue
		}
		if real != source {
			found = append(found, l.opt.Allow.checkMount(real))
		}
	}
	return errors.Join(found...)
}
