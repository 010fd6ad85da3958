package docker

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// ErrRefused means that a container would get rights over the machine that the command line does not allow. A
// pipeline file may come from a pull request, so it cannot allow them.
var ErrRefused = errors.New("refused")

// Allow lists the rights over the machine that containers may get. The zero value allows none.
type Allow struct {
	// Privileged allows privileged containers and their equivalents: capabilities and devices that inference
	// servers do not need, the machine's PID namespace, and disabled confinement.
	Privileged bool
	// HostMounts allows mounts of the machine's root and system folders.
	HostMounts bool
	// DockerSocket allows the sockets of container daemons, which give root rights.
	DockerSocket bool
}

// check rejects privileges that are not allowed, and names the setting.
func (a Allow) check(c *steps.ContainerSpec) error {
	var found []error
	for _, e := range Containers(a).Check(c) {
		found = append(found, fmt.Errorf("%w: %s gives the container rights over the machine; %s", ErrRefused, e.What, e.Advice))
	}
	return errors.Join(found...)
}

// harmless lists capabilities that inference servers need, and Docker's defaults. Any other may allow an escape
// from the container.
var harmless = []string{
	"IPC_LOCK", "SYS_RESOURCE", "SYS_NICE", "SYS_PTRACE",
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
	"NET_RAW", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

// accelerators are prefixes of device nodes of GPUs, RDMA devices, and copy engines between them. A block
// device or /dev/mem would expose the whole machine.
var accelerators = []string{
	"/dev/infiniband", "/dev/nvidia", "/dev/gdrdrv", "/dev/kfd", "/dev/dri", "/dev/accel",
	"/dev/habanalabs", "/dev/davinci", "/dev/hisi_hdc", "/dev/devmm_svm", "/dev/neuron",
	"/dev/xpmem", "/dev/knem", "/dev/dxg", "/dev/null", "/dev/zero", "/dev/shm",
}

// within reports whether path is prefix, below it, or one of its numbered or named nodes (/dev/nvidia0,
// /dev/nvidia-uvm).
func within(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '-' || rest[0] >= '0' && rest[0] <= '9')
}

// confines reports whether a security option keeps the container confined. The system call filter may be
// disabled, as ROCm requires, because capabilities still apply.
func confines(option string) bool {
	return option == "seccomp=unconfined" || option == "seccomp:unconfined" || option == "seccomp=builtin" ||
		strings.HasPrefix(option, "no-new-privileges")
}

// systemFolders belong to the machine, with everything below them.
var systemFolders = []string{
	"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr",
	"/var/run", "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers", "/var/lib/kubelet", "/var/spool",
}

// wholeFolders hold files of several users: mounts of the folder are rejected, mounts below it are allowed.
var wholeFolders = []string{"/", "/home", "/root", "/var", "/var/lib", "/opt", "/srv", "/mnt", "/media"}

// harmlessBelow lists parts of system folders that servers commonly mount.
var harmlessBelow = []string{"/dev/shm", "/dev/infiniband", "/dev/hugepages", "/etc/localtime", "/usr/share/zoneinfo",
	"/sys/class/infiniband"}

// checkMount rejects a source, given as a clean absolute path, that is not allowed.
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
		return true // a home folder contains keys
	}
	return slices.Contains(wholeFolders, path) || slices.ContainsFunc(systemFolders, below)
}

// checkMounts checks sources by name and, on a local daemon, by the targets of symbolic links. A link may
// change between the check and the mount, but only by someone who already has a shell on the machine.
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
