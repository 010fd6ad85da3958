package reports

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// phases returns, for each target, the start-up time and its phases as medians over the launches. What no phase explains is
// the start of processes, imports and waiting.
func (v *view) phases() model.Table {
	t := model.Table{Title: model.Plain("Start-up by phase"), Columns: []model.Column{{Title: "target", Wrap: true}}}
	shown := []struct{ metric, title string }{
		{"startup.time", "start-up"}, {"startup.weights", "weights"}, {"startup.compile", "compile"}, {"startup.graphs", "graphs"},
		{"startup.profile", "profile, KV cache"},
	}
	var names []string
	for _, s := range shown {
		names = append(names, s.metric)
	}
	values := v.figures(runMetrics, names...)
	for _, s := range shown {
		t.Columns = append(t.Columns, model.Column{Title: s.title, Align: model.Right})
	}
	for _, target := range v.doc.Targets {
		row, known := []model.Line{model.Code(target.Addr)}, false
		for i, s := range shown {
			phase := values[targetFigure{target.Addr, s.metric}]
			known = known || i > 0 && len(phase) > 0
			row = append(row, model.Plain(middle("s", phase)))
		}
		if known {
			t.Add(row...)
		}
	}
	return t
}

// capacities returns, for each target, how many tokens its KV caches hold and how much GPU memory it takes, as
// medians over the runs.
func (v *view) capacities() model.Table {
	t := model.Table{Title: model.Plain("Capacity"), Columns: []model.Column{{Title: "target", Wrap: true},
		{Title: "KV cache, tokens", Align: model.Right}, {Title: "GPU memory", Align: model.Right}}}
	values := v.figures(runMetrics, "kv_cache.tokens", "gpu_memory.used")
	for _, target := range v.doc.Targets {
		tokens, memory := values[targetFigure{target.Addr, "kv_cache.tokens"}], values[targetFigure{target.Addr, "gpu_memory.used"}]
		if len(tokens)+len(memory) > 0 {
			t.Add(model.Code(target.Addr), model.Plain(middle("count", tokens)), model.Plain(middle("B", memory)))
		}
	}
	return t
}

// routers returns the latencies that deployments' routers added to the runs, as medians over the runs.
func (v *view) routers() model.Table {
	t := model.Table{Title: model.Plain("Added by the router"), Columns: []model.Column{
		{Title: "target", Wrap: true}, {Title: "delay", Wrap: true}, {Title: "p50", Align: model.Right}, {Title: "p99", Align: model.Right},
	}}
	delays := []struct{ key, name string }{
		{result.AddedPerChunk, "to each token on its way to the client"},
		{result.AddedToRequest, "to each request before it leaves for a server"},
		{result.AddedHandover, "between prefill's answer and decode"},
	}
	var names []string
	for _, d := range delays {
		names = append(names, d.key+result.AddedP50, d.key+result.AddedP99)
	}
	values := v.figures(func(r *result.Run) map[string]float64 { return r.Server }, names...)
	for _, target := range v.doc.Targets {
		for _, delay := range delays {
			p50 := values[targetFigure{target.Addr, delay.key + result.AddedP50}]
			p99 := values[targetFigure{target.Addr, delay.key + result.AddedP99}]
			if len(p50)+len(p99) > 0 {
				t.Add(model.Code(target.Addr), model.Plain(delay.name), model.Plain(middle("s", p50)), model.Plain(middle("s", p99)))
			}
		}
	}
	return t
}

// targetFigure is a figure of a target's runs.
type targetFigure struct{ target, name string }

// figures returns the values of some figures in the successful runs, which have them under their own name or a member's.
func (v *view) figures(of func(*result.Run) map[string]float64, names ...string) map[targetFigure][]float64 {
	out := map[targetFigure][]float64{}
	v.eachRun(result.Cell.Current, func(at cellAt, r *result.Run) {
		if r.Status != result.RunOK {
			return
		}
		for key, x := range of(r) {
			if name := key[strings.LastIndexByte(key, '/')+1:]; slices.Contains(names, name) {
				f := targetFigure{at.cell.Target, name}
				out[f] = append(out[f], x)
			}
		}
	})
	return out
}

func runMetrics(r *result.Run) map[string]float64 { return r.Metrics }

// middle formats the median of values.
func middle(unit string, values []float64) string {
	if len(values) == 0 {
		return humanize.None
	}
	slices.Sort(values)
	m := median(values)
	return humanize.ScaleFor(unit, m).Value(m)
}
