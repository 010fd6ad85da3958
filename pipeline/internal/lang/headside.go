package lang

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// headSays lists the fields of a server that a change may set although the file before it judges. They select
// the program that is measured and its configuration. All other fields select its work and its machine, or how
// it is watched.
var headSays = []string{"Version", "Image", "Executable", "Args", "Env", "Dir"}

// plantable lists the settings of a simulate block that a change can raise, but not lower.
var plantable = []string{"slowdown", "corrupt"}

// TakeHead takes the servers on the head's side from another file, as far as a change may set them: their image
// or executable, arguments and environment. c is the file before the change and head the file after it.
// Everything else stays as in c, so that a change cannot alter how it is judged.
//
// The servers on the base's side are those with which a paired baseline compares others. TakeHead returns an
// error for a difference of the head's servers that cannot be taken over.
func (c *Config) TakeHead(head *Config) error {
	base, targets := c.sides()
	taken := map[string]*Config{}
	c.files = &sameFiles{}
	for _, addr := range targets {
		if slices.Contains(base, addr) {
			continue
		}
		if err := c.takeTarget(head, addr, taken); err != nil {
			return err
		}
	}
	before := map[string]steps.ServerSpec{}
	for _, s := range c.serversOf(targets) {
		before[s.Addr] = s.Spec
	}
	c.taken, c.JudgesChange = taken, true
	for _, s := range c.Servers {
		c.takeServer(s, &s.Spec)
	}
	for _, d := range c.Deployments {
		for i, s := range d.Servers {
			c.takeServer(s, &s.Spec)
			m := &d.Spec.Members[i]
			m.Spec = s.Spec
			m.Spec.Version = s.Spec.EngineVersion() // as in members
			d.Late = d.Late || s.Late
		}
	}
	c.Secrets = append(c.Secrets, head.Secrets...)
	return c.stillDiffer(base, before)
}

// sides returns the targets with which a paired baseline compares others, and the targets of all cells.
func (c *Config) sides() (base, all []string) {
	for _, b := range c.Benchmarks {
		for _, cell := range b.Cells {
			if cell.Target == "" {
				continue
			}
			all = append(all, cell.Target)
			if slices.ContainsFunc(c.Gates, func(g *config.Gate) bool { return g.Benchmark == b.Addr && c.isBase(g, cell) }) {
				base = append(base, cell.Target)
			}
		}
	}
	slices.Sort(base)
	slices.Sort(all)
	return slices.Compact(base), slices.Compact(all)
}

// isBase reports whether a gate compares other cells with this one.
func (c *Config) isBase(g *config.Gate, cell config.Cell) bool {
	base := c.BaselineAt(g.Baseline)
	if base == nil || base.Kind != result.BaselinePaired {
		return false
	}
	value, _ := result.SplitAxis(cell.Values, base.Axis)
	return value == base.Value
}

// takeTarget checks that a target of the head can be taken over, and adds its servers to taken.
func (c *Config) takeTarget(head *Config, addr string, taken map[string]*Config) error {
	ours, theirs := c.serversOf([]string{addr}), head.serversOf([]string{addr})
	for _, s := range ours {
		i := slices.IndexFunc(theirs, func(t *config.Server) bool { return t.Addr == s.Addr })
		if i < 0 {
			return fmt.Errorf("the file before the change measures %s, and the change removes it: keep it, or merge its removal first",
				s.Addr)
		}
		if _, name := merged(s.Spec, theirs[i].Spec); name != "" {
			return fmt.Errorf("%s has another %s than before the change, which decides what is measured: merge that first", s.Addr, name)
		}
		if err := c.sameFilesOfWork(head, s.Spec, theirs[i].Spec); err != nil {
			return err
		}
		taken[s.Addr] = head
	}
	if d, e := c.DeploymentAt(addr), head.DeploymentAt(addr); d != nil {
		if e == nil || len(theirs) != len(ours) || !reflect.DeepEqual(withoutMembers(d.Spec), withoutMembers(e.Spec)) {
			return fmt.Errorf("%s has other parts than before the change: merge that first", addr)
		}
	}
	return nil
}

// serversOf returns the servers of targets.
func (c *Config) serversOf(targets []string) []*config.Server {
	var out []*config.Server
	for _, addr := range c.targets() {
		if slices.Contains(targets, addr) {
			out = append(out, c.ServersOf(addr)...)
		}
	}
	return out
}

// takeServer merges the head's fields into a server.
func (c *Config) takeServer(s *config.Server, spec *steps.ServerSpec) {
	from := c.taken[s.Addr]
	if from == nil {
		return
	}
	for _, t := range from.serversOf(from.targets()) {
		if t.Addr == s.Addr {
			*spec, _ = merged(*spec, t.Spec)
			spec.Folder = from.Folder
			s.Late = s.Late || t.Late
			return
		}
	}
}

// sameFilesOfWork refuses a server of the head if the change's checkout holds another model, or another file
// that an argument of its work names: a chat template, a tokenizer, an adapter, a file of arguments. The paths
// are equal, so only the files show it. The change may set the working directory, in which the files are looked
// up.
func (c *Config) sameFilesOfWork(head *Config, base, own steps.ServerSpec) error {
	if base.URL != "" {
		return nil
	}
	own.Folder = head.Folder
	files := argument.FilesOfWork(base)
	if base.Model != "" {
		files["model"] = append(files["model"], base.Model)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for _, path := range files[name] {
			was, is := base.Path(c.Folder, path), own.Path("", path)
			if c.files.equal(was, is) {
				continue
			}
			return fmt.Errorf("the %s of %s is %s, and the change has other files there than before (%s and %s), which decide what is "+
				"measured: merge them first, or name them by an absolute path outside of the checkout", name, base.Addr, path, is, was)
		}
	}
	return nil
}

// targets returns the addresses of everything that can be measured.
func (c *Config) targets() []string {
	var out []string
	for _, s := range c.Servers {
		out = append(out, s.Addr)
	}
	for _, d := range c.Deployments {
		out = append(out, d.Addr)
	}
	return out
}

// merged returns a server with the fields that a change may set. name is an argument that the change sets but
// must not, "" if there is none.
func merged(base, head steps.ServerSpec) (out steps.ServerSpec, name string) {
	out = base
	into, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(head)
	for i := range into.NumField() {
		field := into.Type().Field(i).Name
		switch {
		case slices.Contains(headSays, field):
			into.Field(i).Set(from.Field(i))
		case field == "Simulate":
			out.Simulate = planted(base.Simulate, head.Simulate)
		case field == "Container":
			if !reflect.DeepEqual(withoutImage(base.Container), withoutImage(head.Container)) {
				name = "container"
			}
			out.Container = head.Container
		case !reflect.DeepEqual(into.Field(i).Interface(), from.Field(i).Interface()):
			name = argumentOf(field)
		}
	}
	return out, cmp.Or(name, argument.OtherWork(base, head))
}

func withoutImage(c *steps.ContainerSpec) *steps.ContainerSpec {
	if c == nil {
		return nil
	}
	bare := *c
	bare.Image = ""
	return &bare
}

// argumentOf returns the name of a server's field in the file.
func argumentOf(field string) string {
	switch field {
	case "Engine":
		return "kind"
	case "ServedName":
		return "served_name"
	case "APIKey":
		return "api_key"
	case "StopGrace":
		return "stop_grace"
	}
	return strings.ToLower(field)
}

// planted returns the settings of a simulated server, with the larger slow-down and the larger share of wrong
// answers of both. In a rehearsal a change can thus show what it would cost, but cannot make its server better.
func planted(base, head map[string]any) map[string]any {
	out := base
	for _, name := range plantable {
		if number(head[name]) > number(base[name]) {
			if out = maps.Clone(out); out == nil {
				out = map[string]any{}
			}
			out[name] = head[name]
			if name == "slowdown" {
				out["slow_op"] = head["slow_op"] // it selects where that time goes
			}
		}
	}
	return out
}

func number(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	}
	return 0
}

// stillDiffer refuses a change that removes the difference between a server of the head's side and one of the
// base's side. Nothing would be measured then.
func (c *Config) stillDiffer(base []string, before map[string]steps.ServerSpec) error {
	others := c.serversOf(base)
	for _, s := range c.serversOf(c.targets()) {
		if c.taken[s.Addr] == nil {
			continue
		}
		was, is := differing(before[s.Addr]), differing(s.Spec)
		for _, other := range others {
			than := differing(other.Spec)
			for _, name := range slices.Concat(union(was, is), union(than, nil)) {
				if was[name] != than[name] && is[name] == than[name] {
					return fmt.Errorf(
						"%s has the %s of %s, from which it differed before the change: the comparison would not look at the change. Merge that first",
						s.Addr, name, other.Addr)
				}
			}
		}
	}
	return nil
}

// differing returns the arguments by which the servers of two sides can differ, as text.
func differing(s steps.ServerSpec) map[string]string {
	out := map[string]string{}
	put := func(name string, value any) { out[name] = fmt.Sprintf("%#v", value) }
	put("image", s.Image)
	put("executable", s.Executable)
	for name, value := range argument.SettingsOf(s) {
		put("args."+name, value)
	}
	for _, e := range s.Env {
		put("env."+e.Name, e.Value)
	}
	return out
}

// resolveTaken merges the head's description of a server after its steps have run.
func (c *Config) resolveTaken(addr string, spec steps.ServerSpec,
	outputs config.Outputs) (steps.ServerSpec, error) {
	from := c.taken[addr]
	if from == nil {
		return spec, nil
	}
	theirs, err := from.ResolveServer(addr, outputs)
	if err != nil {
		return spec, err
	}
	return c.mergedLate(from, spec, theirs)
}

// resolveMembers does the same for the servers of a deployment.
func (c *Config) resolveMembers(d *config.Deployment, outputs config.Outputs) error {
	if len(d.Servers) == 0 || c.taken[d.Servers[0].Addr] == nil {
		return nil
	}
	from := c.taken[d.Servers[0].Addr]
	theirs, err := from.ResolveDeployment(d.Addr, outputs)
	if err != nil {
		return err
	}
	for i := range d.Spec.Members {
		m := &d.Spec.Members[i]
		j := slices.IndexFunc(theirs.Members, func(t steps.Member) bool { return t.Name == m.Name })
		if m.Spec, err = c.mergedLate(from, m.Spec, theirs.Members[j].Spec); err != nil {
			return err
		}
	}
	return nil
}

func (c *Config) mergedLate(from *Config, base, head steps.ServerSpec) (steps.ServerSpec, error) {
	const detail = "It decides what is measured, and the file before the change judges. Merge that first."
	out, name := merged(base, head)
	if name != "" {
		return base, hcl.Diagnostics{{
			Severity: hcl.DiagError, Extra: codeRefused, Summary: fmt.Sprintf("%s has another %s than before the change", base.Addr, name),
			Detail: detail,
		}}
	}
	if err := c.sameFilesOfWork(from, base, head); err != nil {
		return base, hcl.Diagnostics{{
			Severity: hcl.DiagError, Extra: codeRefused, Summary: base.Addr + " reads other files than before the change",
			Detail: diag.Sentence(err),
		}}
	}
	out.Folder = from.Folder
	return out, nil
}

// Difference is an argument that two files write differently, or a block that only one of them has. The
// argument of such a block is "new" or "removed".
type Difference struct {
	Addr     string // "baseline.paired.base", "local.rates", "pipeline"
	Argument string // "load.rate"
	Old, New string // as written; "" for an argument that is not there
}

// Differences lists what a change does to a file, in the order of the addresses. It compares text. An unchanged
// argument can have another value through a local or a variable, which is listed itself.
func Differences(before, after *Config) []Difference {
	was, is := before.written(), after.written()
	var out []Difference
	for _, addr := range union(was, is) {
		switch {
		case is[addr] == nil:
			out = append(out, Difference{Addr: addr, Argument: "removed"})
			continue
		case was[addr] == nil:
			out = append(out, Difference{Addr: addr, Argument: "new"})
			continue
		}
		for _, name := range union(was[addr], is[addr]) {
			if o, n := was[addr][name], is[addr][name]; o != n {
				out = append(out, Difference{addr, name, o, n})
			}
		}
	}
	return out
}

// union returns the sorted keys of two maps.
func union[V any](a, b map[string]V) []string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}

// written returns the arguments of all blocks as they are written, by address and name.
func (c *Config) written() map[string]map[string]string {
	out := map[string]map[string]string{}
	if c.prog == nil {
		return out
	}
	add := func(addr string, b *block) {
		out[addr] = map[string]string{}
		c.writtenIn(b, "", out[addr])
	}
	if c.prog.settings != nil {
		add("pipeline", c.prog.settings)
	}
	for _, b := range c.prog.variables {
		add(address(b), b)
	}
	for _, ent := range c.prog.order {
		add(ent.addr, ent.block)
	}
	for addr, a := range c.prog.locals {
		out[addr] = map[string]string{"value": c.writtenText(a.Expr)}
	}
	return out
}

// writtenIn adds the arguments of a block and of its nested blocks. A number distinguishes blocks of one type
// and name.
func (c *Config) writtenIn(b *block, path string, into map[string]string) {
	for name, a := range b.attrs {
		into[path+name] = c.writtenText(a.Expr)
	}
	count := map[string]int{}
	for _, nested := range b.blocks {
		name := strings.Join(append([]string{nested.typ.name}, nested.labels...), ".")
		if count[name]++; count[name] > 1 {
			name += fmt.Sprintf("[%d]", count[name])
		}
		into[path+name] = "block"
		c.writtenIn(nested, path+name+".", into)
	}
}

// writtenText returns an expression on one line, a plain string without its quotes.
func (c *Config) writtenText(expr hclsyntax.Expression) string {
	text := c.Sources.Text(expr.Range())
	if literal, ok := expr.(*hclsyntax.TemplateExpr); ok && literal.IsStringLiteral() {
		return strings.Trim(text, `"`)
	}
	return text
}

func withoutMembers(d steps.DeploymentSpec) steps.DeploymentSpec {
	d.Members = nil
	return d
}
