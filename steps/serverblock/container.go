package serverblock

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// ReadContainer reads a container block. What is unknown or wrong stays at its zero
// value; the problems' paths begin with "container".
func ReadContainer(o steps.Object) (*steps.ContainerSpec, []steps.Problem) {
	r := containerReader{o: o}
	c := &steps.ContainerSpec{
		Entrypoint: r.texts("entrypoint"), Pull: o.Text("pull"), Platform: o.Text("platform"),
		Workdir: o.Text("workdir"), User: o.Text("user"),
		Network: r.network(), IPC: o.Text("ipc"), PID: o.Text("pid"),
		ShmSize: int64(o.Int("shm_size")), Memory: int64(o.Int("memory")),
		Resources: textMap(r.pairs("resources")), Requests: textMap(r.pairs("requests")),
		CPUSet: o.Text("cpuset"), MemSet: o.Text("memset"),
		Ulimits: r.ulimits(), CapAdd: r.capabilities("cap_add"), CapDrop: r.capabilities("cap_drop"),
		SecurityOpt: r.texts("security_opt"), GroupAdd: r.texts("group_add"),
		Privileged: o.Text("privileged") == "true", NoInit: o.Text("init") == "false",
		Runtime: o.Text("runtime"), Mounts: r.mounts(), Volumes: r.volumes(), Tmpfs: r.tmpfs(), Labels: r.labels(),
	}
	r.gpus(c)
	r.devices(c)
	return c, r.found
}

// containerReader collects problems while it reads.
type containerReader struct {
	o     steps.Object
	found []steps.Problem
}

func (r *containerReader) problem(name, detail, format string, args ...any) {
	r.found = append(r.found, steps.Problem{Path: []string{"container", name}, Summary: fmt.Sprintf(format, args...), Detail: detail})
}

func (r *containerReader) texts(name string) []string {
	words, err := r.o.Texts(name)
	if err != nil {
		r.problem(name, "", "%s", err)
	}
	return words
}

// pairs returns a map in the order of its keys.
func (r *containerReader) pairs(name string) []steps.EnvVar {
	pairs, err := r.o.Env(name)
	if err != nil && r.o.Known(name) {
		r.problem(name, "", "%s", err)
	}
	return pairs
}

var networkName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

func (r *containerReader) network() string {
	name := r.o.Text("network")
	switch {
	case name == "none":
		r.problem("network", "Use bridge, host, or the name of a network.", "a server without a network cannot be reached")
	case name != "" && !networkName.MatchString(name):
		r.problem("network", "Use bridge, host, or the name of a network that exists.", "%q is not the name of a network", name)
	}
	return name
}

var ulimitNames = []string{
	"as", "core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile",
	"nproc", "rss", "rtprio", "rttime", "sigpending", "stack",
}

func (r *containerReader) ulimits() []steps.Ulimit {
	var out []steps.Ulimit
	for _, e := range r.pairs("ulimits") {
		if !slices.Contains(ulimitNames, e.Name) {
			r.problem("ulimits", "There are "+strings.Join(ulimitNames, ", ")+".", "%q is not the name of a limit", e.Name)
			continue
		}
		u, ok := parseUlimit(e)
		if !ok {
			r.problem("ulimits", "Write a number, soft:hard, or unlimited.", "%q is not a limit for %s", e.Value, e.Name)
			continue
		}
		out = append(out, u)
	}
	return out
}

func parseUlimit(e steps.EnvVar) (steps.Ulimit, bool) {
	soft, hard, two := strings.Cut(e.Value, ":")
	if !two {
		hard = soft
	}
	s, okSoft := parseLimit(soft)
	h, okHard := parseLimit(hard)
	ordered := h == -1 || s != -1 && s <= h
	return steps.Ulimit{Name: e.Name, Soft: s, Hard: h}, okSoft && okHard && ordered
}

func parseLimit(s string) (int64, bool) {
	if s == "unlimited" {
		return -1, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= -1
}

var capability = lazyregexp.New(`^[A-Z][A-Z_]*$`)

// capabilities returns names in capitals and without CAP_, as the daemon compares them.
func (r *containerReader) capabilities(name string) []string {
	words := r.texts(name)
	for i, w := range words {
		words[i] = strings.TrimPrefix(strings.ToUpper(w), "CAP_")
		if !capability.MatchString(words[i]) {
			r.problem(name, "For example IPC_LOCK.", "%q is not the name of a capability", w)
		}
	}
	return words
}

// cdiName matches vendor/class=device of the Container Device Interface, version 0.8.
var cdiName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9.-]*/[A-Za-z0-9][A-Za-z0-9_-]*=[A-Za-z0-9][A-Za-z0-9_.:-]*$`)

var gpuID = lazyregexp.New(`^([0-9]+|(GPU|MIG)-[A-Za-z0-9/-]+)$`)

func (r *containerReader) gpus(c *steps.ContainerSpec) {
	const name = "gpus"
	const forms = `Write "all", a number, or a list of indices, UUIDs or CDI names.`
	if !r.o.Known(name) {
		return
	}
	if v := r.o.Value(name); v.Type() == cty.Number {
		c.GPUs = &steps.GPURequest{Count: r.count(v.AsBigFloat())}
		return
	}
	words := r.texts(name)
	if len(words) == 1 && words[0] == "all" {
		c.GPUs = &steps.GPURequest{Count: steps.AllGPUs}
		return
	}
	request := &steps.GPURequest{}
	for _, w := range words {
		switch {
		case cdiName.MatchString(w):
			c.CDI = append(c.CDI, w)
		case gpuID.MatchString(w) && !slices.Contains(request.IDs, w):
			request.IDs = append(request.IDs, w)
		case gpuID.MatchString(w):
			r.problem(name, "", "GPU %s is listed twice", w)
		default:
			r.problem(name, forms, "%q is not a GPU", w)
		}
	}
	if len(request.IDs) > 0 && len(c.CDI) > 0 {
		r.problem(name, "Name all GPUs in one way.", "indices or UUIDs and CDI names cannot be mixed")
	}
	c.GPUs = request
}

func (r *containerReader) count(f *big.Float) int {
	i, acc := f.Int64()
	if acc != big.Exact || i < 0 || i > 1024 {
		r.problem("gpus", `Write "all" for every GPU.`, "gpus must be a whole number from 0 to 1024")
		return 0
	}
	return int(i)
}

var devicePermissions = lazyregexp.New(`^[rwm]{1,3}$`)

func (r *containerReader) devices(c *steps.ContainerSpec) {
	for _, w := range r.texts("devices") {
		if cdiName.MatchString(w) {
			c.CDI = append(c.CDI, w)
			continue
		}
		d, ok := parseDevice(w)
		if !ok {
			r.problem("devices", "Write /dev/NAME, HOST:CONTAINER, HOST:CONTAINER:rwm, or a CDI name.", "%q is not a device", w)
			continue
		}
		c.Devices = append(c.Devices, d)
	}
}

// parseDevice reads a device as docker run --device does.
func parseDevice(s string) (steps.ContainerDevice, bool) {
	parts := strings.Split(s, ":")
	d := steps.ContainerDevice{Host: parts[0], Container: parts[0], Permissions: "rwm"}
	switch {
	case len(parts) == 1:
	case len(parts) == 2 && devicePermissions.MatchString(parts[1]):
		d.Permissions = parts[1]
	case len(parts) == 2:
		d.Container = parts[1]
	case len(parts) == 3:
		d.Container, d.Permissions = parts[1], parts[2]
	default:
		return d, false
	}
	return d, strings.HasPrefix(d.Host, "/") && strings.HasPrefix(d.Container, "/") && devicePermissions.MatchString(d.Permissions)
}

func (r *containerReader) mounts() []steps.Mount {
	var out []steps.Mount
	for _, w := range r.texts("mounts") {
		source, rest, _ := strings.Cut(w, ":")
		target, readOnly, ok := parseTarget(rest)
		if !ok || source == "" {
			r.problem("mounts", "Write SOURCE:TARGET or SOURCE:TARGET:ro.", "%q is not a mount", w)
			continue
		}
		out = append(out, steps.Mount{Source: source, Target: target, ReadOnly: readOnly})
	}
	return out
}

// parseTarget reads PATH, PATH:ro or PATH:rw.
func parseTarget(s string) (path string, readOnly, ok bool) {
	path, mode, _ := strings.Cut(s, ":")
	ok = len(path) > 1 && path[0] == '/' && (mode == "" || mode == "ro" || mode == "rw")
	return path, mode == "ro", ok
}

var volumeName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]+$`)

func (r *containerReader) volumes() []steps.Volume {
	var out []steps.Volume
	for _, e := range r.pairs("volumes") {
		target, readOnly, ok := parseTarget(e.Value)
		switch {
		case !volumeName.MatchString(e.Name):
			r.problem("volumes", "Folders of the machine belong in mounts.", "%q is not the name of a volume", e.Name)
		case !ok:
			r.problem("volumes", "Write an absolute path of the container, with :ro for read-only.",
				"%q is not a valid path for volume %s", e.Value, e.Name)
		default:
			out = append(out, steps.Volume{Name: e.Name, Target: target, ReadOnly: readOnly})
		}
	}
	return out
}

func (r *containerReader) tmpfs() map[string]string {
	out := textMap(r.pairs("tmpfs"))
	for _, path := range slices.Sorted(maps.Keys(out)) {
		if len(path) < 2 || path[0] != '/' {
			r.problem("tmpfs", "", "%q must be an absolute path of the container", path)
		}
	}
	return out
}

func (r *containerReader) labels() map[string]string {
	out := textMap(r.pairs("labels"))
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if name == "" || strings.HasPrefix(name, steps.LabelPrefix) {
			r.problem("labels", "Cleaning up goes by them.", "labels that begin with %s are set by this program", steps.LabelPrefix)
		}
	}
	return out
}

func textMap(pairs []steps.EnvVar) map[string]string {
	if len(pairs) == 0 {
		return nil
	}
	out := make(map[string]string, len(pairs))
	for _, e := range pairs {
		out[e.Name] = e.Value
	}
	return out
}

// checkContainer finds what is wrong with a server's container block.
func checkContainer(o steps.Object) []steps.Problem {
	var found []steps.Problem
	for _, b := range o.Blocks["container"] {
		if !o.Has("image") {
			found = append(found, steps.Problem{
				Path: []string{"container"}, Warning: true,
				Summary: "container has no effect without image",
				Detail:  "Only a server with an image runs in a container.",
			})
		}
		_, problems := ReadContainer(b)
		found = append(found, problems...)
	}
	if o.Known("image") && o.Int("gpus")/max(o.Int("nodes"), 1) > 1 && !hasSharedMemory(o.Blocks["container"]) {
		found = append(found, steps.Problem{
			Path: []string{"gpus"}, Warning: true,
			Summary: "several GPUs share 64 MiB of memory",
			Detail:  `Docker gives a container 64 MiB of /dev/shm, too little for NCCL. Set container { ipc = "host" } or container { shm_size = "16GiB" }.`,
		})
	}
	return found
}

func hasSharedMemory(blocks []steps.Object) bool {
	return slices.ContainsFunc(blocks, func(b steps.Object) bool {
		return b.Has("shm_size") || b.Has("ipc") && (!b.Known("ipc") || b.Value("ipc").Equals(cty.StringVal("host")).True())
	})
}
