package lang

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// deployment evaluates a deployment block with all its instances.
func (e *evaluator) deployment(ent *entity) (cty.Value, bool) {
	if len(ent.block.nested("server")) == 0 {
		e.report(problem(codeMissing, ent.block.header, "deployment has no server",
			"Add at least one server \"KIND\" \"NAME\" { … } block to it."))
	}
	return e.each(ent, targetType(), func(inst instance) cty.Value { return e.deploymentInstance(inst, ent.block) })
}

// deploymentInstance evaluates one deployment, stores it under its address and returns its value.
func (e *evaluator) deploymentInstance(inst instance, b *block) cty.Value {
	d := &config.Deployment{Addr: inst.addr, Range: b.header, Spec: steps.DeploymentSpec{Addr: inst.addr}}
	e.deployments[inst.addr] = d
	before := e.problems()
	s := e.scopeOf(inst)
	self := e.members(d, inst, b, s)
	s = s.with("self", cty.ObjectVal(map[string]cty.Value{"server": self}))
	s.check = func(t hcl.Traversal) *hcl.Diagnostic { return checkMember(t, s.locals["self"]) }
	for _, nested := range b.blocks {
		if nested.hasErrors || nested.typ.name == "server" {
			continue
		}
		within := s
		if nested.typ.name == "router" {
			within = s.with("router", placeholders(steps.RouterVars, steps.RouterVar))
		}
		part, o := e.part(inst, nested, within)
		d.Late = d.Late || o.late
		switch nested.typ.name {
		case "service":
			d.Services = append(d.Services, part)
			d.Spec.Services = append(d.Spec.Services, e.serviceSpec(part, o))
		case "kv_transfer":
			d.Transfer, d.Spec.Transfer = &part, e.transferSpec(part, o)
		case "router":
			d.Router, d.Spec.Router = &part, e.routerSpec(inst, part, o)
			e.checkRouter(part, nested)
		}
	}
	e.checkDuplicateParts(d)
	if e.problems() == before { // a faulty deployment would only be reported twice
		e.checkLayout(d)
		e.checkTransport(d, b)
	}
	own := object{layers: []layer{{b, s}}}
	d.DependsOn = e.dependencies(own)
	model := ""
	if len(d.Servers) > 0 {
		model = d.Servers[0].Spec.Model
	}
	return targetValue(inst, b.label(), "deployment", model, "", false)
}

// members evaluates the servers of a deployment and returns the value of self.server.
func (e *evaluator) members(d *config.Deployment, inst instance, b *block, s *scope) cty.Value {
	values := map[string]cty.Value{}
	for _, nested := range b.nested("server") {
		if nested.hasErrors {
			continue
		}
		addr := inst.addr + ".server." + nested.label()
		if first, dup := e.servers[addr]; dup && values[nested.label()] != cty.NilVal {
			e.report(duplicate(addr, nested.header, first.Range))
			continue
		}
		chain, ok := e.ancestors(addr, nested)
		if !ok {
			continue
		}
		own := *s // a scope of its own, because its expressions are evaluated before self exists
		own.prepared = map[hcl.Expression]*prepared{}
		values[nested.label()] = e.serverInstance(instance{addr: addr}, nested, e.layersOf(chain, &own), false)
		srv := e.servers[addr]
		srv.Role = e.role(nested, s)
		d.Servers = append(d.Servers, srv)
		d.Late = d.Late || srv.Late
		spec := srv.Spec
		spec.Version = spec.EngineVersion() // a layout depends on it
		d.Spec.Members = append(d.Spec.Members, steps.Member{Name: nested.label(), Role: srv.Role, Spec: spec})
	}
	return cty.ObjectVal(values)
}

// role evaluates the argument role of a server of a deployment.
func (e *evaluator) role(b *block, s *scope) string {
	if v := s.meta(b, metaRole); !v.IsNull() {
		return v.AsString()
	}
	return ""
}

// part evaluates a service, a transfer or a router.
func (e *evaluator) part(inst instance, b *block, s *scope) (config.Part, object) {
	o := e.evaluate([]layer{{b, s}}, b.kind.Schema, false)
	e.check(&o, b.kind, nil)
	return config.Part{
		Addr: inst.addr + "." + b.typ.name + "." + strings.Join(b.labels, "."),
		Kind: b.kind, Object: o.Object, Range: b.header,
	}, o
}

func (e *evaluator) checkDuplicateParts(d *config.Deployment) {
	first := map[string]hcl.Range{}
	for _, s := range d.Services {
		if at, dup := first[s.Addr]; dup {
			e.report(problem(codeDuplicate, s.Range, fmt.Sprintf("%s is there twice", s.Addr),
				fmt.Sprintf("It is at %s and again at %s. Give a second service of a kind a name: service %q \"NAME\".", place(at),
					place(s.Range), s.Kind.Name)))
			continue
		}
		first[s.Addr] = s.Range
	}
}

// checkRouter reports elements of the router's lists that are not servers of the
// deployment.
func (e *evaluator) checkRouter(router config.Part, b *block) {
	for _, a := range router.Kind.Schema.Attrs {
		v := router.Object.Value(a.Name)
		if v == cty.NilVal || a.Type != cty.DynamicPseudoType || !v.IsKnown() || v.IsNull() || !v.CanIterateElements() || isMap(v) {
			continue
		}
		for it := v.ElementIterator(); it.Next(); {
			_, elem := it.Element()
			if id, ok := e.refID(elem); !ok || e.servers[id] == nil {
				e.report(problem(codeReference, object{layers: []layer{{block: b}}}.at(a.Name),
					fmt.Sprintf("%s must list servers of the deployment", a.Name), "Refer to them as self.server.NAME."))
				break
			}
		}
	}
}

// checkMember finds references to servers that the deployment does not have.
func checkMember(t hcl.Traversal, self cty.Value) *hcl.Diagnostic {
	switch {
	case t.RootName() != "self":
		return nil
	case len(t) == 1:
		return problem(codeReference, t.SourceRange(), "self is not a whole reference", "Write self.server.NAME.")
	}
	return checkPath(t, 1, self)
}

// transferArguments lists the arguments that all kinds of transfer share. Other arguments of a kind become
// options.
var transferArguments = []string{"transport", "devices", "buffer", "role", "config"}

// serviceSpec converts a service block for its launcher.
func (e *evaluator) serviceSpec(p config.Part, o object) steps.ServiceSpec {
	name := p.Kind.Name
	if len(o.Labels) > 1 {
		name = o.Labels[1]
	}
	image := o.Text("image")
	if o.Has("image") && !o.Known("image") {
		image = e.knownAfter(o, "image")
	}
	return steps.ServiceSpec{
		Name: name, Kind: p.Kind.Name, Image: image, Executable: e.words(o, "executable"),
		Args: e.args(o), Env: e.environment(o), Port: o.Int("port"), MetricsPort: o.Int("metrics_port"),
	}
}

// transferSpec converts a kv_transfer block for the layout.
func (e *evaluator) transferSpec(p config.Part, o object) *steps.TransferSpec {
	t := &steps.TransferSpec{
		Connector: p.Kind.Name, Transport: o.Text("transport"), Devices: textsOf(o.Object, "devices"),
		Buffer: int64(o.Float("buffer")), Role: o.Text("role"),
	}
	if v := o.Value("config"); v != cty.NilVal && v.IsKnown() && !v.IsNull() {
		t.Config, _ = plain(v, e.knownAfter(o, "config")).(map[string]any)
	}
	for _, a := range p.Kind.Schema.Attrs {
		if slices.Contains(transferArguments, a.Name) || !o.Has(a.Name) {
			continue
		}
		if t.Options == nil {
			t.Options = map[string]any{}
		}
		t.Options[a.Name] = plain(o.Value(a.Name), e.knownAfter(o, a.Name))
	}
	return t
}

// routerSpec converts a router block for the layout. It leaves out elements that are not servers of the
// deployment, which checkRouter reports.
func (e *evaluator) routerSpec(inst instance, p config.Part, o object) *steps.RouterSpec {
	return &steps.RouterSpec{
		Protocol: p.Kind.Name, Port: p.Object.Int("port"), Command: e.words(o, "command"), Env: e.environment(o),
		Prefill: e.memberNames(inst, p.Object.Value("prefill")), Decode: e.memberNames(inst, p.Object.Value("decode")),
	}
}

// memberNames returns the labels of the deployment's servers in a list.
func (e *evaluator) memberNames(inst instance, v cty.Value) []string {
	if v == cty.NilVal || !v.IsKnown() || v.IsNull() || !v.CanIterateElements() || isMap(v) {
		return nil
	}
	var names []string
	for it := v.ElementIterator(); it.Next(); {
		_, elem := it.Element()
		id, ok := e.refID(elem)
		if name, own := strings.CutPrefix(id, inst.addr+".server."); ok && own {
			names = append(names, name)
		}
	}
	return names
}

// checkLayout asks the registry whether the parts fit together. It reports a problem at the part that the
// message names, or else at the deployment.
func (e *evaluator) checkLayout(d *config.Deployment) {
	err := e.prog.registry.CheckDeployment(d.Spec)
	if err == nil {
		return
	}
	text := strings.TrimPrefix(err.Error(), d.Addr+": ")
	e.report(problem(codeValue, rangeOfPart(d, text), d.Addr+" cannot be laid out", diag.Sentence(errors.New(text))))
}

// rangeOfPart returns the range of the part that a message names, or else of the deployment.
func rangeOfPart(d *config.Deployment, text string) hcl.Range {
	for _, s := range d.Servers {
		name := strings.TrimPrefix(s.Addr, d.Addr+".server.")
		if strings.Contains(text, "server \""+name+"\"") {
			return s.Range
		}
	}
	switch {
	case d.Router != nil && strings.HasPrefix(text, "router"):
		return d.Router.Range
	case d.Transfer != nil && strings.Contains(text, d.Transfer.Kind.Name):
		return d.Transfer.Range
	}
	return d.Range
}

// problems returns the number of errors reported so far.
func (e *evaluator) problems() int {
	n := 0
	for _, d := range e.diags {
		if d.Severity == hcl.DiagError {
			n++
		}
	}
	return n
}
