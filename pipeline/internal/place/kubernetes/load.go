package kubernetes

import (
	"context"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/place"
	"github.com/servegate/pipeline/steps/kubernetes"
	"github.com/servegate/pipeline/steps/load"
	"github.com/servegate/pipeline/steps/load/remote"
)

// Lane implements place.Place. A lane has the nodes of one machine for repeats, or all nodes.
func (p *pods) Lane(lane int) *place.Lane {
	count, width := place.LanesOf(p.opt.Plan)
	if p.run == nil || p.spec.LoadNode == nil && count < 2 {
		return nil
	}
	part := *p
	nodes := p.run.Nodes()
	if count > 1 {
		part.first = lane * width
		nodes = nodes[min(part.first, len(nodes)):min(part.first+width, len(nodes))]
	}
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	out := &place.Lane{Place: &part, Nodes: strings.Join(names, ",")}
	if node := p.spec.LoadNode; node != nil && *node < len(names) {
		out.LoadNode = names[*node]
		out.Load = func(ctx context.Context, run engine.LoadRun) (load.Result, error) {
			return p.generate(ctx, p.loads[lane], run)
		}
	}
	return out
}

// generate runs the load generator in the cluster. It sends to the servers' own addresses.
func (p *pods) generate(ctx context.Context, at *kubernetes.Tasks, run engine.LoadRun) (load.Result, error) {
	run.BaseURL = p.run.Direct(run.BaseURL)
	run.Files = p.opt.Plan.Config.Files
	g := remote.Generator{Streams: at, Argv: []string{place.LoadWorker, place.LoadStreamed, kubernetes.TaskFolder}}
	return g.Run(ctx, run.Name, run.Options, run.Log)
}
