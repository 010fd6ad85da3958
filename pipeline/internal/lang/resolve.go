package lang

import (
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// evaluator evaluates the file again, with the outputs of steps if there are any.
func (c *Config) evaluator(outputs map[string]map[string]string) *evaluator {
	e := newEvaluator(c.prog, c.values, &reporter{})
	e.outputs = outputs
	return e
}

// ResolveServer evaluates a server after its steps have run. outputs are by step address
// and name. Every argument of the result is known.
func (c *Config) ResolveServer(addr string, outputs map[string]map[string]string) (steps.ServerSpec, hcl.Diagnostics) {
	e, diags := c.again(addr, outputs)
	if diags.HasErrors() {
		return steps.ServerSpec{}, diags
	}
	if s := e.servers[addr]; s != nil {
		if s.Late {
			return steps.ServerSpec{}, stillLate(addr, s.DependsOn, s.Range)
		}
		return c.resolveTaken(addr, s.Spec, outputs)
	}
	return steps.ServerSpec{}, notFound(addr, "server")
}

// ResolveDeployment evaluates a deployment after its steps have run.
func (c *Config) ResolveDeployment(addr string, outputs map[string]map[string]string) (steps.DeploymentSpec, hcl.Diagnostics) {
	e, diags := c.again(addr, outputs)
	if diags.HasErrors() {
		return steps.DeploymentSpec{}, diags
	}
	if d := e.deployments[addr]; d != nil {
		if d.Late {
			return steps.DeploymentSpec{}, stillLate(addr, d.DependsOn, d.Range)
		}
		diags := c.resolveMembers(d, outputs)
		return d.Spec, diags
	}
	return steps.DeploymentSpec{}, notFound(addr, "deployment")
}

// ResolveStep evaluates a step after those that it depends on have run.
func (c *Config) ResolveStep(addr string, outputs map[string]map[string]string) (steps.Object, hcl.Diagnostics) {
	e, diags := c.again(addr, outputs)
	if diags.HasErrors() {
		return steps.Object{}, diags
	}
	if s := e.steps[addr]; s != nil {
		if s.late {
			return steps.Object{}, stillLate(addr, s.DependsOn, s.Range)
		}
		return s.Object, nil
	}
	return steps.Object{}, notFound(addr, "step")
}

// again evaluates the instance addr of a block, and what that refers to. What others wait
// for is not its problem.
func (c *Config) again(addr string, outputs map[string]map[string]string) (*evaluator, hcl.Diagnostics) {
	if outputs == nil {
		outputs = map[string]map[string]string{}
	}
	e := c.evaluator(outputs)
	for _, ent := range c.prog.order {
		list, _ := e.instances(ent.block, ent.addr)
		for _, inst := range list {
			if inst.addr == addr {
				return e, e.instanceAgain(ent, inst)
			}
		}
	}
	return e, nil
}

// instanceAgain evaluates one instance and returns the errors of that alone.
func (e *evaluator) instanceAgain(ent *entity, inst instance) hcl.Diagnostics {
	switch ent.block.typ.name {
	case "server":
		chain, ok := e.ancestors(ent.addr, ent.block)
		if ok {
			e.serverInstance(inst, ent.block, e.layersOf(chain, e.scopeOf(inst)), false)
		}
	case "step":
		e.stepInstance(inst, ent.block)
	case "deployment":
		e.deploymentInstance(inst, ent.block)
	}
	var errors hcl.Diagnostics
	for _, d := range e.diags {
		if d.Severity == hcl.DiagError {
			errors = append(errors, d)
		}
	}
	return errors
}

// stillLate is the problem of an instance that outputs do not complete.
func stillLate(addr string, needs []string, at hcl.Range) hcl.Diagnostics {
	return hcl.Diagnostics{problem(codeLate, at, fmt.Sprintf("%s still waits for a step", addr),
		fmt.Sprintf("It needs outputs of %s, and not all of them are there.", humanize.List(needs)))}
}

func notFound(addr, what string) hcl.Diagnostics {
	return hcl.Diagnostics{{
		Severity: hcl.DiagError, Extra: codeReference,
		Summary: fmt.Sprintf("%s is not a %s of this pipeline", addr, what),
	}}
}
