package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/go-version"
	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// pipelineSettings evaluates the pipeline block.
func (e *evaluator) pipelineSettings() config.Settings {
	b := e.prog.settings
	if b == nil {
		return config.Settings{Alpha: defaultAlpha}
	}
	o := e.evaluate([]layer{{b, e.newScope()}}, pipelineType().schema, false)
	s := config.Settings{
		Description: o.Text("description"), Alpha: defaultAlpha, Timeout: o.Duration("timeout"), Lock: o.Text("lock"),
		Resident: o.Text("resident"),
	}
	if s.Resident != "" {
		s.ResidentRange = o.at("resident")
	}
	if o.Known("alpha") {
		s.Alpha = o.Float("alpha")
		if !(s.Alpha > 0 && s.Alpha < 0.5) {
			e.report(problem(codeValue, o.at("alpha"), "alpha must be above 0 and below 0.5",
				fmt.Sprintf("It is %g. It is the chance of a false alarm in the whole file, usually 0.05.", s.Alpha)))
			s.Alpha = defaultAlpha
		} else if !e.checkAlpha(s.Alpha, o.at("alpha")) {
			s.Alpha = defaultAlpha
		}
	}
	if o.Known("timeout") && s.Timeout <= 0 {
		e.report(problem(codeValue, o.at("timeout"), "timeout must be above zero", "Leave it out for none."))
	}
	e.placeBlocks(&s, o)
	s.Price, _ = settingsBlock(e, o, "price", readPrice)
	s.Budget, s.BudgetRange = settingsBlock(e, o, "budget", func(inner steps.Object) (*config.Budget, []steps.Problem) {
		return readBudget(inner, s.Price)
	})
	s.Variance, s.VarianceRange = settingsBlock(e, o, "variance", readVariance)
	if s.Variance != nil && s.Variance.Calibration != "" {
		s.Variance.Calibration = e.besideFile(s.Variance.Calibration)
		s.VarianceRange = o.at("variance", "calibration")
	}
	s.Bisect, _ = settingsBlock(e, o, "bisect", readBisect)
	if s.Bisect != nil {
		e.checkBisectVariables(s.Bisect, o)
	}
	s.Profile, _ = settingsBlock(e, o, "profile", readProfile)
	return s
}

// settingsBlock evaluates a block of the pipeline block and returns its range. out is nil if there is no such
// block.
func settingsBlock[T any](e *evaluator, o object, name string, read func(steps.Object) (*T, []steps.Problem)) (out *T, at hcl.Range) {
	for _, inner := range o.Blocks[name] {
		var found []steps.Problem
		out, found = read(inner)
		at = o.at(name)
		e.reportOf(o, name, found)
	}
	return out, at
}

// placeBlocks evaluates the blocks that define where servers run.
func (e *evaluator) placeBlocks(s *config.Settings, o object) {
	s.Slurm, s.SlurmRange = settingsBlock(e, o, "slurm", readSlurm)
	s.Docker, _ = settingsBlock(e, o, "docker", readDocker)
	s.Kubernetes, s.ClusterRange = settingsBlock(e, o, "kubernetes", readKubernetes)
	e.cluster(s, o)
	e.checkOnePlace(o)
	e.machines(s, o)
}

// machines evaluates the machines block, which needs a block with machines.
func (e *evaluator) machines(s *config.Settings, o object) {
	s.Machines, s.MachinesRange = settingsBlock(e, o, "machines", readMachines)
	if s.Machines == nil {
		if s.Kubernetes != nil && s.Kubernetes.Nodes > 0 {
			e.report(problem(codeCheck, o.at("kubernetes", "nodes"), "nodes is for repeats that are spread over machines",
				"The run gets the nodes that its servers name. Add a machines block, or remove nodes."))
		}
		return
	}
	if s.Slurm == nil && s.Docker == nil && s.Kubernetes == nil {
		e.report(problem(codeCheck, o.at("machines"), "the file declares no machines to spread repeats over",
			"The machines are the hosts of the docker block or the nodes of the slurm or kubernetes block. Add one of them, or remove this block."))
	}
	if s.Machines.Between > 0 && len(o.Blocks["variance"]) > 0 {
		e.report(problem(codeCheck, o.at("machines", "between"), "between and variance exclude each other",
			"A spread that is known is that of pairs of one machine. Remove the variance block, or between."))
	}
}

// checkOnePlace refuses a second block that defines where servers run.
func (e *evaluator) checkOnePlace(o object) {
	first := ""
	for _, block := range []string{"slurm", "docker", "kubernetes"} {
		switch {
		case len(o.Blocks[block]) == 0:
		case first == "":
			first = block
		default:
			e.report(problem(codeCheck, o.at(block), first+" and "+block+" exclude each other",
				"Servers run on the machines of one of them. Remove the other block."))
			return
		}
	}
}

// reportOf reports the problems of a nested block.
func (e *evaluator) reportOf(o object, block string, found []steps.Problem) {
	for _, p := range found {
		e.report(problem(codeCheck, o.atBlock(p.Block, append([]string{block}, p.Path...)...), p.Summary, p.Detail))
	}
}

// checkBisectVariables reports names of variables that the file does not declare.
func (e *evaluator) checkBisectVariables(s *config.Bisect, o object) {
	var declared []string
	for _, b := range e.prog.variables {
		declared = append(declared, b.label())
	}
	check := func(argument, name string) {
		if name != "" && !slices.Contains(declared, name) {
			e.report(problem(codeReference, o.at("bisect", argument), fmt.Sprintf("unknown variable %q", name),
				didYouMean(name, declared, "variables")))
		}
	}
	check("good", s.Good)
	check("candidate", s.Candidate)
}

// checkVersion compares the file's required_version with the program's version. It runs first, because an old
// program does not understand a newer file.
func (e *evaluator) checkVersion(have string) *hcl.Diagnostic {
	if e.prog.settings == nil || !e.prog.settings.has("required_version") {
		return nil
	}
	src := e.prog.settings.attrs["required_version"]
	a, _ := pipelineType().schema.Attr("required_version")
	v, ok := e.newScope().attribute(src, a)
	if !ok || v.IsNull() {
		return nil
	}
	text := steps.Object{Attrs: map[string]cty.Value{"v": v}}.Text("v")
	want, err := version.NewConstraint(text)
	if err != nil {
		return problem(codeVersion, src.Expr.Range(), "required_version is not a version constraint", "Write it such as \">= 0.1, < 2\".")
	}
	running, err := version.NewVersion(have)
	if err != nil && have != "" {
		e.report(warning(codeVersion, src.Expr.Range(), "required_version is not checked",
			fmt.Sprintf("This build has no version (%s), so it may be too old or too new for the file.", have)))
	}
	if err != nil {
		return nil
	}
	if !want.Check(running.Core()) {
		return problem(codeVersion, src.Expr.Range(), "the file is for another version of pipeline",
			fmt.Sprintf("It needs %s, and this is %s. Nothing else of it was checked.", text, have))
	}
	return nil
}
