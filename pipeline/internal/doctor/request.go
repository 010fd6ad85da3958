package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Request is the GPUs that one server asks for.
type Request struct {
	// IDs are indices or UUIDs, or beginnings of UUIDs; empty where only a number is asked for.
	IDs []string
	// Count of GPUs where IDs is empty; steps.AllGPUs for all.
	Count int
	// Maybe is set if nothing was asked for, but the server will use GPUs if there are any: an engine that is started as
	// a process and not kept from them.
	Maybe bool
}

// visible are the variables that choose a process's GPUs.
var visible = []string{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}

// requests of a server: one, or none where it cannot use a GPU.
func requests(spec steps.ServerSpec) []Request {
	c := spec.NewContainer()
	switch {
	case spec.URL != "":
		return nil
	case c == nil:
		return processRequest(spec)
	case c.GPUs != nil && len(c.GPUs.IDs) > 0:
		return []Request{{IDs: c.GPUs.IDs}}
	case len(c.CDI) > 0:
		return cdiRequest(c.CDI)
	case c.GPUs != nil && c.GPUs.Count != 0:
		return []Request{{Count: c.GPUs.Count}}
	case spec.GPUs > 0: // devices of ROCm
		return processRequest(spec)
	}
	return nil
}

// processRequest is what a process gets: the GPUs that its environment names, else as
// many as the file says, else all there are.
func processRequest(spec steps.ServerSpec) []Request {
	for _, name := range visible {
		value, set := steps.Getenv(spec.Env, name)
		if !set || value == "all" || strings.HasPrefix(value, "(") {
			continue
		}
		ids := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		if len(ids) == 0 || ids[0] == "-1" || ids[0] == "none" || ids[0] == "void" || ids[0] == "NoDevFiles" {
			return nil
		}
		return []Request{{IDs: ids}}
	}
	if spec.GPUs > 0 {
		return []Request{{Count: spec.GPUs}}
	}
	if spec.OwnProgram == nil {
		return nil
	}
	return []Request{{Count: steps.AllGPUs, Maybe: true}}
}

// cdiRequest reads names such as nvidia.com/gpu=0. Other kinds of devices are no GPUs.
func cdiRequest(names []string) []Request {
	var ids []string
	for _, name := range names {
		kind, id, _ := strings.Cut(name, "=")
		if !strings.HasSuffix(kind, "/gpu") {
			continue
		}
		if id == "all" {
			return []Request{{Count: steps.AllGPUs}}
		}
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	return []Request{{IDs: ids}}
}

// Select returns the GPUs that some requests get of those that there are: those that are
// named, then the lowest others for each count, as engines and Docker take them. sure is
// false where only a number was asked for: then it may be others.
func Select(requests []Request, gpus []probe.GPU) (selected []probe.GPU, sure bool, err error) {
	sure = true
	chosen := map[int]bool{}
	for _, r := range requests {
		for _, id := range r.IDs {
			if strings.HasPrefix(id, "MIG-") {
				sure = false // nothing here says on which GPU the instance is
				continue
			}
			i, err := find(gpus, id)
			if err != nil {
				return nil, false, err
			}
			chosen[i] = true
		}
	}
	for _, r := range requests {
		if len(r.IDs) > 0 {
			continue
		}
		sure = false
		left := r.Count
		for i := range gpus {
			if !chosen[i] && left != 0 {
				chosen[i] = true
				left--
			}
		}
		if left > 0 {
			return nil, false, fmt.Errorf("%s are asked for at once, and the machine has %d", humanize.Count(asked(requests), "GPU"), len(gpus))
		}
	}
	for i, g := range gpus {
		if chosen[i] {
			selected = append(selected, g)
		}
	}
	return selected, sure, nil
}

// asked is the number of GPUs that requests need together.
func asked(requests []Request) int {
	n := 0
	for _, r := range requests {
		n += max(0, r.Count) + len(r.IDs)
	}
	return n
}

// find returns the place of the GPU with an index, a UUID or the beginning of one; an
// index of an instance of MIG, 0:1, begins with that of its GPU.
func find(gpus []probe.GPU, id string) (int, error) {
	number, _, _ := strings.Cut(id, ":")
	for i, g := range gpus {
		if index, err := strconv.Atoi(number); err == nil && index == g.Index {
			return i, nil
		}
		if len(id) >= len("GPU-x") && strings.HasPrefix(g.UUID, id) {
			return i, nil
		}
	}
	return 0, fmt.Errorf("GPU %s is asked for, and the machine has %s", id, list(gpus))
}

func list(gpus []probe.GPU) string {
	if len(gpus) == 0 {
		return "none"
	}
	names := make([]string, len(gpus))
	for i, g := range gpus {
		names[i] = g.String()
	}
	return strings.Join(names, ", ")
}
