package plan

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/reports/term"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// sides lists, for every pair of targets that a gate compares, how they differ. Identical sides are an error if
// the options refuse them, because nothing would be compared. If one of several values repeats the base's, it
// is a control, and the plan only warns of it.
func (b *builder) sides(p *Plan) []result.Sides {
	var out []result.Sides
	refused := map[string]bool{}
	for _, g := range p.Gates {
		var found []result.Sides
		for _, c := range g.Comparisons {
			_, base, okBase := p.Cell(c.Base)
			_, head, okHead := p.Cell(c.Head)
			if !g.paired() || !okBase || !okHead || base.handedOver() {
				continue
			}
			s := b.pairOfSides(g, c, base, head)
			if !slices.ContainsFunc(found, func(o result.Sides) bool { return reflect.DeepEqual(o, s) }) {
				found = append(found, s)
			}
		}
		for _, s := range found {
			if !slices.ContainsFunc(out, func(o result.Sides) bool { return reflect.DeepEqual(o, s) }) {
				out = append(out, s)
			}
			if key := g.Baseline + " " + g.Benchmark; s.Identical && b.opt.RefuseIdentical && !refused[key] && !control(found, s) {
				refused[key] = true
				b.identical(g, s)
			}
		}
	}
	return out
}

// control reports whether sides are identical for one whole value of the axis, beside another value that
// differs.
func control(all []result.Sides, s result.Sides) bool {
	others := false
	for _, o := range all {
		if o.Head == s.Head && !o.Identical {
			return false
		}
		others = others || o.Head != s.Head && !o.Identical
	}
	return others
}

// pairOfSides returns how one pair of cells differs.
func (b *builder) pairOfSides(g Gate, c Comparison, base, head Cell) result.Sides {
	s := result.Sides{Baseline: g.Baseline, Axis: g.Axis, Base: c.BaseValue, Head: c.HeadValue, BaseTarget: base.Target,
		HeadTarget: head.Target}
	was, lateBase := b.traits(base.Target)
	is, lateHead := b.traits(head.Target)
	if x, y := b.madeOf(base.Target), b.madeOf(head.Target); x != y { // their values have no counterparts
		was, is = was.summary(x), is.summary(y)
	}
	for _, name := range traitNames(was, is) {
		if x, y := was[name], is[name]; x != y {
			s.Differences = append(s.Differences, result.SideDifference{What: name, Base: x.text, Head: y.text})
		}
	}
	for _, d := range comparability.Compare(comparability.OfWorkload(base.Workload), comparability.OfWorkload(head.Workload), nil) {
		s.Differences = append(s.Differences, result.SideDifference{What: "work: " + d.Label, Base: cmp.Or(d.Base, "none"),
			Head: cmp.Or(d.Head, "none")})
	}
	s.KnownAfterSteps = (lateBase || lateHead) && base.Target != head.Target
	s.Identical = len(s.Differences) == 0 && !s.KnownAfterSteps && reflect.DeepEqual(base.Workload, head.Workload)
	return s
}

// identical reports the error of identical sides.
func (b *builder) identical(g Gate, s result.Sides) {
	where := fmt.Sprintf("both are %s", s.BaseTarget)
	if s.BaseTarget != s.HeadTarget {
		where = fmt.Sprintf("%s and %s are launched alike", s.BaseTarget, s.HeadTarget)
	}
	simulated := ""
	if b.opt.Simulated == "" && b.differInSimulation(s) {
		simulated = " Their simulate blocks differ, which counts with --simulate alone."
	}
	at := b.cfg.Benchmarks[0].Range
	if base := b.cfg.BaselineAt(g.Baseline); base != nil {
		at = base.Range
	}
	place := ""
	if bm := b.cfg.BenchmarkAt(g.Benchmark); bm != nil {
		r := bm.TargetRange
		place = fmt.Sprintf(" (target of %s at %s:%d)", g.Benchmark, r.Filename, r.Start.Line)
	}
	b.fail(at, "the sides of a comparison are the same",
		fmt.Sprintf("%s=%s and %s=%s do the same work on the same server: %s%s. So nothing is compared, and every run of it is green.%s Have "+
			"the target depend on matrix.%s, or the servers differ in it; for a deliberate A/A run say --allow-identical.",
			s.Axis, s.Base, s.Axis, s.Head, where, place, simulated, s.Axis))
}

// differInSimulation reports whether two targets differ in how they are simulated.
func (b *builder) differInSimulation(s result.Sides) bool {
	with := *b
	with.opt.AnySimulation = true
	was, _ := with.traits(s.BaseTarget)
	is, _ := with.traits(s.HeadTarget)
	return !reflect.DeepEqual(was, is)
}

// traits returns the values from which a target is launched, by name, and whether some of them are known only
// after steps.
func (b *builder) traits(addr string) (out traits, late bool) {
	out = traits{}
	if s := b.cfg.ServerAt(addr); s != nil {
		out.add("", reflect.ValueOf(s.Spec))
		late = s.Late
	} else if d := b.cfg.DeploymentAt(addr); d != nil {
		out.add("", reflect.ValueOf(d.Spec))
		late = d.Late
	} else {
		out["target"] = trait{text: addr}
	}
	b.leaveOut(out)
	return out, late
}

// madeOf describes the parts of a target.
func (b *builder) madeOf(addr string) string {
	if d := b.cfg.DeploymentAt(addr); d != nil {
		return deploymentSource(d.Spec)
	}
	return "one server"
}

// leaveOut removes traits that do not affect this run.
func (b *builder) leaveOut(t traits) {
	for name, trait := range t { // the container's image is the server's
		if image, inContainer := strings.CutSuffix(name, "container.image"); inContainer && t[image+"image"] == trait {
			delete(t, name)
		}
	}
	if b.opt.Simulated != "" || b.opt.AnySimulation {
		return
	}
	for name := range t {
		if strings.HasPrefix(name, "simulate.") || strings.Contains(name, ".simulate.") {
			delete(t, name)
		}
	}
}

// writeSides writes how the compared sides differ.
func (p *Plan) writeSides(w io.Writer) {
	for _, s := range p.Sides {
		fmt.Fprintf(w, "%s\t%s\n", term.Escape(s.Axis), term.Escape(s.Title()))
		for _, line := range s.Lines() {
			fmt.Fprintf(w, "  \t%s\n", term.Escape(line))
		}
	}
	if len(p.Sides) > 0 {
		fmt.Fprintln(w)
	}
}

// Bases returns the targets with which paired gates compare a target.
func (p *Plan) Bases(target string) []string {
	var bases []string
	for _, g := range p.Gates {
		for _, s := range p.sides(g) {
			if s.head == target && !slices.Contains(bases, s.base) {
				bases = append(bases, s.base)
			}
		}
	}
	return bases
}

// sides are the targets of a paired comparison.
type sides struct{ base, head string }

// sides returns the pairs of targets of a gate, each once.
func (p *Plan) sides(g Gate) []sides {
	var out []sides
	if !g.paired() {
		return nil
	}
	for _, c := range g.Comparisons {
		_, base, ok := p.Cell(c.Base)
		_, head, ok2 := p.Cell(c.Head)
		if s := (sides{base.Target, head.Target}); ok && ok2 && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// LaunchLevel returns the strictest level at which launches of two targets are compared: the share of launches
// in a group's level, divided by the number of pairs of targets in the group.
func (p *Plan) LaunchLevel() float64 {
	groups := map[string][]sides{}
	level := map[string]float64{}
	for _, g := range p.Gates {
		name, alpha := g.group(), p.share(g)
		if !g.CanFail() {
			name, alpha = "alone "+g.Addr, cmp.Or(g.Alpha, p.Alpha)
		}
		for _, s := range p.sides(g) {
			if !slices.Contains(groups[name], s) {
				groups[name] = append(groups[name], s)
			}
			level[name] = gates.LaunchShare * alpha / float64(len(groups[name]))
		}
	}
	strictest := gates.LaunchShare * p.Alpha
	for _, l := range level {
		strictest = min(strictest, l)
	}
	return strictest
}

// traits holds the values from which a target is launched, by their path in the file: "image",
// "args.max_num_seqs", "prefill.env.CUDA_VISIBLE_DEVICES".
type traits map[string]trait

// trait is one value. A secret is compared, but not shown.
type trait struct {
	text   string
	secret string
}

// cosmetic lists the fields that change where and how patiently a server is asked, but not the server itself.
var cosmetic = []string{"Addr", "Name", "Folder", "Port", "MetricsPort", "Listen", "Ready", "StopGrace", "ServedName", "APIKey", "Labels"}

// traitNames returns the names of both sides, sorted. Names that define the server come first.
func traitNames(a, b traits) []string {
	names := map[string]bool{}
	for _, t := range []traits{a, b} {
		for name := range t {
			names[name] = true
		}
	}
	first := []string{"image", "executable", "url", "version", "model"}
	rank := func(name string) int {
		if i := slices.Index(first, name); i >= 0 {
			return i
		}
		return len(first)
	}
	return slices.SortedFunc(maps.Keys(names), func(x, y string) int {
		if c := rank(x) - rank(y); c != 0 {
			return c
		}
		return strings.Compare(x, y)
	})
}

// summary returns the parts, images, executables and models of a target in place of all its values.
func (t traits) summary(parts string) traits {
	out := traits{"made of": {text: parts}}
	for _, what := range []string{"image", "executable", "model"} {
		var values []string
		for _, name := range slices.Sorted(maps.Keys(t)) {
			if v := t[name].text; (name == what || strings.HasSuffix(name, "."+what)) && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		out.leaf(what, strings.Join(values, ", "))
	}
	return out
}

// add stores a value under a name, and members of structures, lists and maps under names below it.
func (t traits) add(name string, v reflect.Value) {
	switch x := v.Interface().(type) {
	case time.Duration:
		t.leaf(name, x.String())
		return
	case steps.ServerSpec:
		for arg, text := range argument.SettingsOf(x) {
			t.leaf(join(join(name, "args"), arg), text)
		}
		x.Args = nil
		v = reflect.ValueOf(x)
	case []steps.Arg: // of a service
		for arg, text := range argument.SettingsOf(steps.ServerSpec{Args: x}) {
			t.leaf(join(name, arg), text)
		}
		return
	case []steps.EnvVar:
		for _, e := range x {
			if e.Secret {
				t[join(name, e.Name)] = trait{text: "(secret)", secret: e.Value}
			} else {
				t[join(name, e.Name)] = trait{text: e.Value}
			}
		}
		return
	case []steps.Cache: // the place of a side's own cache is not a difference
		for _, c := range x {
			t.leaf(join(name, c.Use()), "kept")
		}
		return
	case []steps.Member:
		for _, m := range x {
			t.leaf(join(m.Name, "role"), m.Role)
			t.add(m.Name, reflect.ValueOf(m.Spec))
		}
		return
	case []steps.ServiceSpec:
		for _, s := range x {
			t.add(s.Name, reflect.ValueOf(s))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			t.add(name, v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && !slices.Contains(cosmetic, f.Name) {
				t.add(join(name, snake(f.Name)), v.Field(i))
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			t.add(join(name, fmt.Sprint(key)), v.MapIndex(key))
		}
	case reflect.Slice:
		var parts []string
		for i := range v.Len() {
			parts = append(parts, fmt.Sprintf("%v", v.Index(i).Interface()))
		}
		t.leaf(name, strings.Join(parts, " "))
	default:
		if !v.IsZero() {
			t.leaf(name, fmt.Sprint(v.Interface()))
		}
	}
}

func (t traits) leaf(name, text string) {
	if text != "" {
		t[name] = trait{text: text}
	}
}

func join(name, more string) string {
	if name == "" {
		return more
	}
	return name + "." + more
}

// snake writes a field's name as the file does: ShmSize → shm_size, GPUs → gpus, URL → url.
func snake(name string) string {
	if name == "GPUs" || strings.ToUpper(name) == name {
		return strings.ToLower(name)
	}
	var out strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 && !unicode.IsUpper(rune(name[i-1])) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
