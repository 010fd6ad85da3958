package serverblock_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/serverblock"
	"github.com/zclconf/go-cty/cty"
)

func texts(words ...string) cty.Value {
	var values []cty.Value
	for _, w := range words {
		values = append(values, cty.StringVal(w))
	}
	return cty.ListVal(values)
}

func textMap(pairs ...string) cty.Value {
	values := map[string]cty.Value{}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = cty.StringVal(pairs[i+1])
	}
	return cty.MapVal(values)
}

func TestReadContainer(t *testing.T) {
	got, problems := serverblock.ReadContainer(steps.Object{Attrs: map[string]cty.Value{
		"entrypoint": texts("python3", "-m", "x"), "pull": cty.StringVal("never"), "platform": cty.StringVal("linux/arm64"),
		"workdir": cty.StringVal("/w"), "user": cty.StringVal("1000"), "init": cty.False, "network": cty.StringVal("host"),
		"ipc": cty.StringVal("host"), "shm_size": cty.NumberIntVal(16 << 30), "memory": cty.NumberIntVal(1 << 30),
		"cpuset": cty.StringVal("0-3,8"), "memset": cty.StringVal("0"),
		"ulimits": textMap("stack", "67108864", "memlock", "unlimited", "nofile", "1024:-1"),
		"cap_add": texts("cap_ipc_lock", "SYS_NICE"), "group_add": texts("video"), "runtime": cty.StringVal("nvidia"),
		"gpus": texts("0", "GPU-5f6e"), "devices": texts("/dev/infiniband", "/dev/a:/dev/b:rw", "/dev/c:r", "rdma.io/nic=mlx5_0"),
		"mounts": texts("/data/hf:/root/.cache/huggingface:ro", "models:/models"), "volumes": textMap("vllm-cache", "/root/.cache/vllm"),
		"tmpfs": textMap("/scratch", "size=8g"), "labels": textMap("team", "serving"), "privileged": cty.NullVal(cty.Bool),
	}})
	want := &steps.ContainerSpec{
		Entrypoint: []string{"python3", "-m", "x"}, Pull: "never", Platform: "linux/arm64", Workdir: "/w", User: "1000", NoInit: true,
		Network: "host", IPC: "host", ShmSize: 16 << 30, Memory: 1 << 30, CPUSet: "0-3,8", MemSet: "0",
		Ulimits: []steps.Ulimit{{Name: "memlock", Soft: -1, Hard: -1}, {Name: "nofile", Soft: 1024, Hard: -1},
			{Name: "stack", Soft: 67108864, Hard: 67108864}},
		CapAdd: []string{"IPC_LOCK", "SYS_NICE"}, GroupAdd: []string{"video"}, Runtime: "nvidia",
		GPUs: &steps.GPURequest{IDs: []string{"0", "GPU-5f6e"}}, CDI: []string{"rdma.io/nic=mlx5_0"},
		Devices: []steps.ContainerDevice{
			{Host: "/dev/infiniband", Container: "/dev/infiniband", Permissions: "rwm"},
			{Host: "/dev/a", Container: "/dev/b", Permissions: "rw"},
			{Host: "/dev/c", Container: "/dev/c", Permissions: "r"},
		},
		Mounts:  []steps.Mount{{Source: "/data/hf", Target: "/root/.cache/huggingface", ReadOnly: true}, {Source: "models", Target: "/models"}},
		Volumes: []steps.Volume{{Name: "vllm-cache", Target: "/root/.cache/vllm"}},
		Tmpfs:   map[string]string{"/scratch": "size=8g"}, Labels: map[string]string{"team": "serving"},
	}
	if len(problems) != 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("problems %v; got\n%+v, want\n%+v", problems, got, want)
	}
}

func TestReadContainerGPUs(t *testing.T) {
	for name, tt := range map[string]struct {
		value cty.Value
		want  *steps.GPURequest
		cdi   []string
	}{
		"unset":   {cty.NullVal(cty.DynamicPseudoType), nil, nil},
		"unknown": {cty.DynamicVal, nil, nil},
		"all":     {cty.StringVal("all"), &steps.GPURequest{Count: steps.AllGPUs}, nil},
		"number":  {cty.NumberIntVal(2), &steps.GPURequest{Count: 2}, nil},
		"none":    {cty.NumberIntVal(0), &steps.GPURequest{}, nil},
		"one":     {cty.StringVal("3"), &steps.GPURequest{IDs: []string{"3"}}, nil},
		"tuple": {cty.TupleVal([]cty.Value{cty.NumberIntVal(0), cty.StringVal("MIG-1a/2/0")}),
			&steps.GPURequest{IDs: []string{"0", "MIG-1a/2/0"}}, nil},
		"cdi": {texts("nvidia.com/gpu=all"), &steps.GPURequest{}, []string{"nvidia.com/gpu=all"}},
	} {
		c, problems := serverblock.ReadContainer(steps.Object{Attrs: map[string]cty.Value{"gpus": tt.value}})
		if len(problems) != 0 || !reflect.DeepEqual(c.GPUs, tt.want) || !reflect.DeepEqual(c.CDI, tt.cdi) {
			t.Errorf("%s: got %+v and %q, %v", name, c.GPUs, c.CDI, problems)
		}
	}
}

func TestCheckContainer(t *testing.T) {
	str, num := cty.StringVal, cty.NumberIntVal
	for name, tt := range map[string]struct {
		block map[string]cty.Value
		want  string
	}{
		"empty": {map[string]cty.Value{}, ""},
		"unknown": {map[string]cty.Value{"mounts": cty.UnknownVal(cty.List(cty.String)), "ulimits": cty.UnknownVal(cty.Map(cty.String))},
			""},
		"network":        {map[string]cty.Value{"network": str("none")}, "container.network: a server without a network cannot be reached"},
		"other's":        {map[string]cty.Value{"network": str("container:x")}, `container.network: "container:x" is not the name of a network`},
		"size":           {map[string]cty.Value{"shm_size": num(0)}, "container.shm_size: shm_size must be above zero"},
		"cores":          {map[string]cty.Value{"cpuset": str("0-")}, "container.cpuset: cpuset must be a list of numbers and ranges"},
		"limit's name":   {map[string]cty.Value{"ulimits": textMap("memory", "1")}, `container.ulimits: "memory" is not the name of a limit`},
		"limit":          {map[string]cty.Value{"ulimits": textMap("stack", "lots")}, `container.ulimits: "lots" is not a limit for stack`},
		"limits crossed": {map[string]cty.Value{"ulimits": textMap("stack", "2:1")}, `container.ulimits: "2:1" is not a limit for stack`},
		"capability":     {map[string]cty.Value{"cap_add": texts("lock it")}, `container.cap_add: "lock it" is not the name of a capability`},
		"gpu":            {map[string]cty.Value{"gpus": texts("first")}, `container.gpus: "first" is not a GPU`},
		"gpu twice":      {map[string]cty.Value{"gpus": texts("0", "0")}, "container.gpus: GPU 0 is listed twice"},
		"gpus mixed": {map[string]cty.Value{"gpus": texts("0", "nvidia.com/gpu=1")},
			"container.gpus: indices or UUIDs and CDI names cannot be mixed"},
		"half a gpu": {map[string]cty.Value{"gpus": cty.NumberFloatVal(0.5)}, "container.gpus: gpus must be a whole number from 0 to 1024"},
		"device": {map[string]cty.Value{"devices": texts("infiniband", "/dev/a:/dev/b:x")},
			"container.devices: \"infiniband\" is not a device\ncontainer.devices: \"/dev/a:/dev/b:x\" is not a device"},
		"mount": {map[string]cty.Value{"mounts": texts("/data", ":/x", "/a:b", "/a:/", "/a:/b:rx")}, "container.mounts: \"/data\" is " +
			"not a mount\ncontainer.mounts: \":/x\" is not a mount\ncontainer.mounts: \"/a:b\" is not a mount\ncontainer.mounts: \"/a:/\" is not " +
			"a mount\ncontainer.mounts: \"/a:/b:rx\" is not a mount"},
		"volume":         {map[string]cty.Value{"volumes": textMap("/data", "/x")}, `container.volumes: "/data" is not the name of a volume`},
		"volume's place": {map[string]cty.Value{"volumes": textMap("cache", "x")}, `container.volumes: "x" is not a valid path for volume cache`},
		"tmpfs":          {map[string]cty.Value{"tmpfs": textMap("x", "")}, `container.tmpfs: "x" must be an absolute path of the container`},
		"workdir":        {map[string]cty.Value{"workdir": str("x")}, "container.workdir: workdir must be an absolute path of the container"},
		"label": {map[string]cty.Value{"labels": textMap("dev.pipeline.run", "x")},
			"container.labels: labels that begin with dev.pipeline. are set by this program"},
	} {
		o := steps.Object{
			Attrs:  map[string]cty.Value{"image": str("i:1")},
			Blocks: map[string][]steps.Object{"container": {{Attrs: tt.block}}},
		}
		if got := problems(serverblock.Check(o)); got != tt.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", name, got, tt.want)
		}
	}
}

func TestCheckContainerWarns(t *testing.T) {
	block := func(attrs map[string]cty.Value) map[string][]steps.Object {
		return map[string][]steps.Object{"container": {{Attrs: attrs}}}
	}
	image := map[string]cty.Value{"image": cty.StringVal("i:1"), "gpus": cty.NumberIntVal(2)}
	for name, tt := range map[string]struct {
		object steps.Object
		want   string
	}{
		"no image": {steps.Object{Attrs: map[string]cty.Value{"executable": cty.StringVal("vllm")}, Blocks: block(nil)},
			"container: container has no effect without image"},
		"no block": {steps.Object{Attrs: image}, "gpus: several GPUs share 64 MiB of memory"},
		"private": {steps.Object{Attrs: image, Blocks: block(map[string]cty.Value{"ipc": cty.StringVal("private")})},
			"gpus: several GPUs share 64 MiB of memory"},
		"host ipc":         {steps.Object{Attrs: image, Blocks: block(map[string]cty.Value{"ipc": cty.StringVal("host")})}, ""},
		"shm_size":         {steps.Object{Attrs: image, Blocks: block(map[string]cty.Value{"shm_size": cty.NumberIntVal(1 << 34)})}, ""},
		"ipc is not known": {steps.Object{Attrs: image, Blocks: block(map[string]cty.Value{"ipc": cty.UnknownVal(cty.String)})}, ""},
	} {
		found := serverblock.Check(tt.object)
		if got := problems(found); got != tt.want || len(found) > 0 && !found[0].Warning {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// Whatever the words are, what is read has absolute paths, and what is not is a problem.
func FuzzReadContainer(f *testing.F) {
	f.Add("/a:/b:ro", "/dev/x:rw", "1:2", "sha256:1")
	f.Add(":", "::::", "-1:", "@")
	f.Add("a:/b", "vendor.com/class=0", "unlimited", "GPU-0")
	f.Fuzz(func(t *testing.T, mount, device, limit, gpu string) {
		c, problems := serverblock.ReadContainer(steps.Object{Attrs: map[string]cty.Value{
			"mounts": texts(mount), "devices": texts(device), "ulimits": textMap("stack", limit), "gpus": texts(gpu),
		}})
		read := len(c.Mounts) + len(c.Ulimits) + len(c.Devices) + len(c.CDI)
		if c.GPUs != nil && (len(c.GPUs.IDs) > 0 || c.GPUs.Count != 0) {
			read++
		}
		if read+len(problems) < 4 {
			t.Errorf("something was lost: %+v, %v", c, problems)
		}
		for _, m := range c.Mounts {
			if m.Source == "" || !strings.HasPrefix(m.Target, "/") {
				t.Errorf("mount %+v", m)
			}
		}
		for _, d := range c.Devices {
			if !strings.HasPrefix(d.Host, "/") || !strings.HasPrefix(d.Container, "/") || d.Permissions == "" {
				t.Errorf("device %+v", d)
			}
		}
	})
}
