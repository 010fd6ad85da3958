package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// evaluator returns an evaluator of the file, with the outputs of steps if there are any.
func (c *Config) evaluator(outputs map[string]map[string]string) *evaluator {
	e := newEvaluator(c.prog, c.values, &reporter{})
	e.outputs = outputs
	return e
}

// ResolveServer implements [config.Late].
func (c *Config) ResolveServer(addr string, outputs config.Outputs) (steps.ServerSpec, error) {
	e, diags := c.again(addr, "server", outputs)
	if diags.HasErrors() {
		return steps.ServerSpec{}, diags
	}
	return c.resolveTaken(addr, e.servers[addr].Spec, outputs)
}

// ResolveDeployment implements [config.Late].
func (c *Config) ResolveDeployment(addr string, outputs config.Outputs) (steps.DeploymentSpec, error) {
	e, diags := c.again(addr, "deployment", outputs)
	if diags.HasErrors() {
		return steps.DeploymentSpec{}, diags
	}
	d := e.deployments[addr]
	return d.Spec, c.resolveMembers(d, outputs)
}

// ResolveStep implements [config.Late].
func (c *Config) ResolveStep(addr string, outputs config.Outputs) (steps.Object, error) {
	e, diags := c.again(addr, "step", outputs)
	if diags.HasErrors() {
		return steps.Object{}, diags
	}
	return e.steps[addr].Object, nil
}

// again evaluates the instance addr of a block of type typ, and what it refers to. It fails if the instance
// itself still waits for a step, but not if others do.
func (c *Config) again(addr, typ string, outputs map[string]map[string]string) (*evaluator, hcl.Diagnostics) {
	if outputs == nil {
		outputs = map[string]map[string]string{}
	}
	e := c.evaluator(outputs)
	for _, ent := range c.prog.of(typ) {
		list, _ := e.instances(ent.block, ent.addr)
		for _, inst := range list {
			if inst.addr == addr {
				return e, e.instanceAgain(ent, inst)
			}
		}
	}
	return e, hcl.Diagnostics{{
		Severity: hcl.DiagError, Extra: codeReference, Summary: fmt.Sprintf("%s is not a %s of this pipeline", addr, typ),
	}}
}

// instanceAgain evaluates one instance and returns the errors of this evaluation.
func (e *evaluator) instanceAgain(ent *entity, inst instance) hcl.Diagnostics {
	late, needs := false, []string(nil)
	switch ent.block.typ.name {
	case "server":
		if chain, ok := e.ancestors(ent.addr, ent.block); ok {
			e.serverInstance(inst, ent.block, e.layersOf(chain, e.scopeOf(inst)), false)
			late, needs = e.servers[inst.addr].Late, e.servers[inst.addr].DependsOn
		}
	case "step":
		e.stepInstance(inst, ent.block)
		late, needs = e.steps[inst.addr].Late, e.steps[inst.addr].DependsOn
	case "deployment":
		e.deploymentInstance(inst, ent.block)
		late, needs = e.deployments[inst.addr].Late, e.deployments[inst.addr].DependsOn
	}
	errors := slices.DeleteFunc(slices.Clone(e.diags), func(d *hcl.Diagnostic) bool { return d.Severity != hcl.DiagError })
	if late && len(errors) == 0 {
		errors = hcl.Diagnostics{problem(codeLate, ent.block.header, fmt.Sprintf("%s still waits for a step", inst.addr),
			fmt.Sprintf("It needs outputs of %s, and not all of them are there.", humanize.List(needs)))}
	}
	return errors
}
