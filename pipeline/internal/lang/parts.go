package lang

import (
	"errors"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// The arguments that parts of deployments have in common, as spec knows those of servers.
// What a kind of transfer has beyond them goes into its options.
var transferArguments = []string{"transport", "devices", "buffer", "role", "config"}

// serviceSpec turns a service block into what its launcher gets.
func (e *evaluator) serviceSpec(p Part, o object) steps.ServiceSpec {
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

// transferSpec turns a kv_transfer block into what a layout is made of.
func (e *evaluator) transferSpec(p Part, o object) *steps.TransferSpec {
	devices, err := o.Texts("devices")
	if err != nil {
		devices = nil // the kind's check has said so
	}
	t := &steps.TransferSpec{
		Connector: p.Kind.Name, Transport: o.Text("transport"), Devices: devices,
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

// routerSpec turns a router block into what a layout is made of. Elements that are no
// servers of the deployment are left out: checkRouter reports them.
func (e *evaluator) routerSpec(inst instance, p Part) *steps.RouterSpec {
	return &steps.RouterSpec{
		Protocol: p.Kind.Name, Port: p.Object.Int("port"),
		Prefill: e.memberNames(inst, p.Object.Value("prefill")), Decode: e.memberNames(inst, p.Object.Value("decode")),
	}
}

// memberNames are the labels of the deployment's servers in a list.
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

// checkLayout asks the registry whether the parts fit together, and reports what does not
// at the server that the message names, or else at the deployment.
func (e *evaluator) checkLayout(d *Deployment) {
	err := e.prog.registry.CheckDeployment(d.Spec)
	if err == nil {
		return
	}
	text := strings.TrimPrefix(err.Error(), d.Addr+": ")
	e.report(problem(codeValue, d.rangeOf(text), d.Addr+" cannot be laid out", diag.Sentence(errors.New(text))))
}

// rangeOf is the place of the part that a message names.
func (d *Deployment) rangeOf(text string) hcl.Range {
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

// problems counts the problems so far that stop a pipeline.
func (e *evaluator) problems() int {
	n := 0
	for _, d := range e.diags {
		if d.Severity == hcl.DiagError {
			n++
		}
	}
	return n
}
