package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/probe"
)

// Request is one server's request for GPUs.
type Request struct {
	// IDs are indices, UUIDs or prefixes of UUIDs; empty if only a number is requested.
	IDs []string
	// Count of GPUs if IDs is empty; steps.AllGPUs for all.
	Count int
	// Maybe means that the server requests no GPU, but will use any available: an engine started as a process
	// without restriction.
	Maybe bool
}

// visible lists the variables that select a process's GPUs.
var visible = []string{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"}

// requests returns the GPU request of a server, none if it cannot use a GPU.
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

// processRequest returns the request of a process: the GPUs in its environment, else the number in the file,
// else all.
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

// cdiRequest parses names such as nvidia.com/gpu=0. It ignores other devices.
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

// Select returns the GPUs that requests get: the named ones, then for each count the lowest others, as engines
// and Docker choose. sure is false if only a number was requested, since they may choose others.
func Select(requests []Request, gpus []probe.GPU) (selected []probe.GPU, sure bool, err error) {
	sure = true
	chosen := map[int]bool{}
	for _, r := range requests {
		for _, id := range r.IDs {
			if strings.HasPrefix(id, "MIG-") {
				sure = false // the GPU of the instance is unknown
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

// asked returns the total number of requested GPUs.
func asked(requests []Request) int {
	n := 0
	for _, r := range requests {
		n += max(0, r.Count) + len(r.IDs)
	}
	return n
}

// find returns the position of the GPU with an index, a UUID or a prefix of one. The index of a MIG instance,
// 0:1, begins with its GPU's.
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
