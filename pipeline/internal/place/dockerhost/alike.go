package dockerhost

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps/docker"
)

// compare checks that hosts with the same task in a run are alike, as far as their daemons report. Only
// nvidia-smi knows their GPUs, and no image contains it before it is pulled.
func (h *hosts) compare(ctx context.Context) error {
	if len(h.list) < 2 {
		return nil
	}
	infos := make([]docker.Info, len(h.list))
	if err := h.each(func(i int, at *host) (err error) {
		infos[i], err = docker.Inspect(ctx, at.url)
		return err
	}); err != nil {
		return err
	}
	nodes := place.Nodes{Advice: "name hosts that are alike in the docker block"}
	nodes.Lanes, nodes.Width = place.LanesOf(h.opt.Plan)
	counted := !slices.ContainsFunc(infos, func(info docker.Info) bool { return info.GPUs == 0 })
	for i, info := range infos {
		facts := map[string]string{
			"arch": info.Arch, "cpus": strconv.Itoa(info.CPUs), "memory_gib": fmt.Sprintf("%.1f", float64(info.MemoryBytes)/(1<<30)),
			"kernel": info.Kernel, "os": info.OS,
		}
		if counted {
			facts["gpu_count"] = strconv.Itoa(info.GPUs)
		}
		nodes.List = append(nodes.List, place.Node{Name: h.list[i].shown, Facts: facts})
	}
	return nodes.Compare(h.opt)
}
