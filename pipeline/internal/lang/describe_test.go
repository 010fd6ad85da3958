package lang_test

import (
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// describe makes a view of a configuration that JSON can show: without expressions and
// schemas, with values as text, and with secrets hidden.
func describe(cfg *lang.Config) map[string]any {
	view := map[string]any{
		"settings": map[string]any{
			"description": cfg.Settings.Description, "alpha": cfg.Settings.Alpha,
			"timeout": cfg.Settings.Timeout.String(), "lock": cfg.Settings.Lock,
		},
	}
	add := func(name string, v any) {
		list, _ := view[name].([]any)
		view[name] = append(list, v)
	}
	for _, v := range cfg.Variables {
		add("variables", map[string]any{"name": v.Name, "value": valueView(v.Value), "origin": v.Origin})
	}
	for _, s := range cfg.Steps {
		add("steps", map[string]any{"addr": s.Addr, "kind": s.Kind.Name, "depends_on": s.DependsOn, "object": objectView(s.Object)})
	}
	for _, s := range cfg.Servers {
		add("servers", serverView(s))
	}
	for _, d := range cfg.Deployments {
		add("deployments", deploymentView(d))
	}
	for _, b := range cfg.Benchmarks {
		add("benchmarks", benchmarkView(b))
	}
	for _, b := range cfg.Baselines {
		add("baselines", map[string]any{"addr": b.Addr, "kind": b.Kind, "axis": b.Axis, "value": b.Value,
			"branch": b.Branch, "sessions": b.Sessions, "match": b.Match})
	}
	for _, g := range cfg.Gates {
		add("gates", gateView(g))
	}
	for _, r := range cfg.Reports {
		add("reports", map[string]any{"addr": r.Addr, "kind": r.Kind, "gates": r.Gates, "path": r.Path,
			"formats": r.Formats, "rows": r.Rows, "cols": r.Cols, "options": r.Options})
	}
	return view
}

func serverView(s *config.Server) map[string]any {
	spec := s.Spec
	if spec.APIKey != "" {
		spec.APIKey = "(secret)"
	}
	for i, e := range spec.Env {
		if e.Secret {
			spec.Env[i].Value = "(secret)"
		}
	}
	return map[string]any{"addr": s.Addr, "kind": s.Kind.Name, "late": s.Late, "depends_on": s.DependsOn, "role": s.Role, "spec": spec}
}

func deploymentView(d *config.Deployment) map[string]any {
	view := map[string]any{"addr": d.Addr, "depends_on": d.DependsOn}
	var servers, services []any
	for _, s := range d.Servers {
		servers = append(servers, serverView(s))
	}
	for _, p := range d.Services {
		services = append(services, partView(&p))
	}
	view["servers"], view["services"] = servers, services
	view["transfer"], view["router"] = partView(d.Transfer), partView(d.Router)
	return view
}

func partView(p *config.Part) any {
	if p == nil {
		return nil
	}
	return map[string]any{"addr": p.Addr, "kind": p.Kind.Name, "object": objectView(p.Object)}
}

func benchmarkView(b *config.Benchmark) map[string]any {
	var axes, cells []any
	for _, a := range b.Axes {
		axes = append(axes, map[string]any{"name": a.Name, "values": a.Values})
	}
	for _, c := range b.Cells {
		var at []string
		for _, v := range c.Values {
			at = append(at, v.String())
		}
		cells = append(cells, map[string]any{"at": at, "target": c.Target, "workload": c.Workload})
	}
	return map[string]any{
		"addr": b.Addr, "description": b.Description, "axes": axes, "cells": cells, "excluded": b.Excluded,
		"repeat": []int{b.RepeatMin, b.RepeatMax}, "seed": b.Seed, "timeout": b.Timeout.String(), "limits": b.Limits,
	}
}

func gateView(g *config.Gate) map[string]any {
	var metrics []string
	for _, m := range g.Metrics {
		metrics = append(metrics, m.ID)
	}
	return map[string]any{
		"addr": g.Addr, "benchmark": g.Benchmark, "baseline": g.Baseline, "metrics": metrics, "cells": g.Cells,
		"margin": g.Margin, "suite_margin": g.SuiteMargin, "alpha": g.Alpha, "test": g.TestName, "strict": g.Strict,
		"allow_overload": g.AllowOverload,
		"on":             []result.Action{g.OnRegression, g.OnInconclusive, g.OnMissing, g.OnInvalid, g.OnUnprovenTransport},
		"assert":         g.Condition != "",
	}
}

func objectView(o steps.Object) map[string]any {
	view := map[string]any{}
	for name, v := range o.Attrs {
		if !v.IsNull() {
			view[name] = valueView(v)
		}
	}
	for typ, blocks := range o.Blocks {
		var list []any
		for _, b := range blocks {
			list = append(list, objectView(b))
		}
		view[typ] = list
	}
	return view
}

func valueView(v cty.Value) any {
	switch {
	case v.ContainsMarked():
		return "(secret)"
	case !v.IsWhollyKnown():
		return "(unknown)"
	}
	return ctyjson.SimpleJSONValue{Value: v}
}
