package lang

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/secret"
	"github.com/servegate/pipeline/steps/serverblock"
	"github.com/zclconf/go-cty/cty"
)

// spec converts an evaluated server block for its engine. Only this function maps the arguments of servers by
// name. Values that wait for the run are shown as "(known after step.exec.build)".
func (e *evaluator) spec(addr string, kind steps.Kind, o object) steps.ServerSpec {
	text := func(name string) string {
		if o.Has(name) && !o.Known(name) {
			return e.knownAfter(o, name)
		}
		return o.Text(name)
	}
	return steps.ServerSpec{
		Addr: addr, Engine: kind.Name, OwnProgram: kind.Program, OwnImages: kind.Images, Version: o.Text("version"),
		Image: text("image"), Executable: e.words(o, "executable"), URL: strings.TrimRight(text("url"), "/"),
		Model: text("model"), ServedName: text("served_name"), GPUs: o.Int("gpus"),
		Args: e.args(o), Env: e.environment(o),
		Port: o.Int("port"), Dir: o.Text("dir"), Node: o.Int("node"), Nodes: o.Int("nodes"), APIKey: text("api_key"),
		Ready: readiness(o), StopGrace: o.Duration("stop_grace"),
		Stack: e.commands(o), Container: container(o), Caches: caches(o), Simulate: settings(o, "simulate"),
	}
}

// knownAfter returns the text that stands for the value of an argument waiting for steps.
func (e *evaluator) knownAfter(o object, name string) string {
	var exprs []hcl.Expression
	for _, l := range o.layers {
		if src := l.block.attrs[name]; src != nil {
			exprs = append(exprs, src.Expr)
		}
	}
	return config.LatePrefix + strings.Join(e.stepsOf(exprs), ", ") + ")"
}

// container returns the container block. The kind's check has reported its problems.
func container(o object) *steps.ContainerSpec {
	for _, b := range o.Blocks["container"] {
		c, _ := serverblock.ReadContainer(b)
		return c
	}
	return nil
}

// caches returns the cache blocks. The kind's check has reported their problems.
func caches(o object) []steps.Cache {
	var out []steps.Cache
	for _, b := range o.Blocks["cache"] {
		out = append(out, serverblock.ReadCache(b))
	}
	return out
}

// commands returns the commands of a server that other tools start, nil for all others.
func (e *evaluator) commands(o object) *steps.StackSpec {
	if !o.Has("up") {
		return nil
	}
	return &steps.StackSpec{
		Up: e.words(o, "up"), Down: e.words(o, "down"), Render: e.words(o, "render"), Logs: e.words(o, "logs"), Lost: e.words(o, "lost"),
	}
}

// words returns an argument that is a string or a list of strings.
func (e *evaluator) words(o object, name string) []string {
	if o.Has(name) && !o.Known(name) {
		return []string{e.knownAfter(o, name)}
	}
	return textsOf(o.Object, name)
}

func readiness(o object) steps.Readiness {
	r := steps.Readiness{Timeout: steps.DefaultReadyTimeout}
	if o.Has("url") {
		r.Timeout = steps.DefaultAttachTimeout
	}
	for _, b := range o.Blocks["ready"] {
		r.Path, r.Interval = b.Text("path"), b.Duration("interval")
		if b.Has("timeout") {
			r.Timeout = b.Duration("timeout")
		}
	}
	return r.WithDefaults()
}

// settings returns a nested block as a map of plain values, without those that are not set.
func settings(o object, typ string) map[string]any {
	blocks := o.Blocks[typ]
	if len(blocks) == 0 {
		return nil
	}
	out := map[string]any{}
	for name := range blocks[0].Attrs {
		if blocks[0].Known(name) {
			out[name] = plain(blocks[0].Value(name), "")
		}
	}
	return out
}

// args lists the engine's arguments in source order, the parent's first. Computed keys come last, sorted.
func (e *evaluator) args(o object) []steps.Arg {
	v := o.Value("args")
	if v == cty.NilVal || !isMap(v) {
		return nil
	}
	late := e.knownAfter(o, "args")
	values := v.AsValueMap()
	var out []steps.Arg
	take := func(name string) {
		if value, ok := values[name]; ok {
			out = append(out, steps.Arg{Name: name, Value: plain(value, late)})
			delete(values, name)
		}
	}
	for _, l := range o.layers {
		if src := l.block.attrs["args"]; src != nil {
			e.keyOrder(src.Expr, map[string]bool{}, take)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		take(name)
	}
	return out
}

// keyOrder visits the keys of an object expression as visitKeys does, and also the keys of locals in it.
func (e *evaluator) keyOrder(expr hclsyntax.Expression, seen map[string]bool, take func(string)) {
	switch x := expr.(type) {
	case *hclsyntax.ParenthesesExpr:
		e.keyOrder(x.Expression, seen, take)
	case *hclsyntax.FunctionCallExpr:
		for _, arg := range x.Args {
			e.keyOrder(arg, seen, take)
		}
	case *hclsyntax.ScopeTraversalExpr:
		r, d := parseReference(x.Traversal)
		if local := e.prog.locals[r.addr]; d == nil && local != nil && len(r.rest) == 0 && !seen[r.addr] {
			seen[r.addr] = true
			e.keyOrder(local.Expr, seen, take)
		}
	default:
		visitKeys(expr, func(name string, _ hcl.Range) { take(name) })
	}
}

// environment lists env sorted by name, with secrets marked as such.
func (e *evaluator) environment(o object) []steps.EnvVar {
	env, ok := o.Attrs["env"]
	if !ok || env == cty.NilVal {
		return nil
	}
	bare, all := env.Unmark()
	if !isMap(bare) {
		return nil
	}
	late := e.knownAfter(o, "env")
	var out []steps.EnvVar
	for it := bare.ElementIterator(); it.Next(); { // maps iterate sorted by key
		k, v := it.Element()
		hidden := v.ContainsMarked() || len(all) > 0
		v, _ = v.UnmarkDeep()
		if v.IsNull() {
			continue
		}
		value := late
		if v.IsKnown() {
			value = v.AsString()
		}
		hidden = hidden || slices.Contains(secret.Values(k.AsString(), value), value)
		out = append(out, steps.EnvVar{Name: k.AsString(), Value: value, Secret: hidden})
	}
	return out
}

// plain converts a value to a Go value: string, bool, int64, float64, []any, map[string]any or nil. An unknown
// value becomes late.
func plain(v cty.Value, late string) any {
	v, _ = v.UnmarkDeep()
	switch {
	case v.IsNull():
		return nil
	case !v.IsKnown():
		return late
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Bool:
		return v.True()
	case v.Type() == cty.Number:
		return plainNumber(v)
	case isMap(v):
		out := map[string]any{}
		for it := v.ElementIterator(); it.Next(); {
			k, elem := it.Element()
			out[k.AsString()] = plain(elem, late)
		}
		return out
	case v.CanIterateElements():
		out := []any{}
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			out = append(out, plain(elem, late))
		}
		return out
	}
	return nil
}

// plainNumber returns integers as int64, other numbers as float64.
func plainNumber(v cty.Value) any {
	f := v.AsBigFloat()
	if i, exact := f.Int64(); exact == 0 {
		return i
	}
	x, _ := f.Float64()
	return x
}
