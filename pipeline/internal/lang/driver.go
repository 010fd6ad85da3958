package lang

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// defaultDriverOutput is the file that a driver writes unless the file names another.
const defaultDriverOutput = "results.json"

func driverType() *blockType {
	return &blockType{
		name: "driver", labels: []string{"kind"}, max: 1,
		doc: "Another load generator in the place of our own. Kind exec runs a program once for each run, against the target, and reads what it writes, in any format that import reads. " +
			"Kind results runs nothing: the cells are filled from files with `pipeline gate FILE --results`. A benchmark with a driver has no dataset, load or warmup, and one of kind results no target.",
		schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "command", Type: cty.List(cty.String), Doc: "The program and its arguments, one word each; no shell reads them. driver.base_url, driver.host, driver.port, driver.model, driver.seed, driver.repeat, driver.dir and driver.output are known when it runs. Needed by kind exec."},
			{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Doc: "Environment variables of the command. Secrets belong here."},
			{Name: "output", Type: cty.String, Doc: "File below driver.dir that the command leaves its results in, which driver.output is the path of; \"" + defaultDriverOutput + "\" unless set."},
			{Name: "tool", Type: cty.String, Doc: "Tool whose definitions hold, such as \"sglang\", where the results do not say which it was."},
		}},
	}
}

// driverValue is what driver means within a driver block: placeholders that are replaced
// when the command is run.
func driverValue() cty.Value {
	values := make(map[string]cty.Value, len(steps.DriverVars))
	for name := range steps.DriverVars {
		values[name] = cty.StringVal(steps.DriverVar(name))
	}
	return cty.ObjectVal(values)
}

// undriven are the parts of a benchmark that only our own load generator uses.
var undriven = []string{
	"dataset", "endpoint", "input_len", "output_len", "prefix_len", "ignore_eos", "temperature", "body", "request_timeout",
	"warmup", "load", "goodput", "limits",
}

// drivenSchema is what a benchmark with a driver still says of a cell.
func drivenSchema(kind string) steps.Schema {
	for _, a := range benchmarkWorkload().Attrs {
		if a.Name == "target" {
			a.Required = kind != steps.DriverResults
			return steps.Schema{Attrs: []steps.Attr{a}}
		}
	}
	return steps.Schema{}
}

// driven evaluates a cell that a driver measures.
func (e *evaluator) driven(b *block, s *scope) (target string, w steps.Workload) {
	src := b.one("driver")
	kind := ""
	if len(src.labels) > 0 {
		kind = src.labels[0]
	}
	c := cell{evaluator: e, scope: s, block: b}
	c.object = e.evaluate([]layer{{b, s}}, drivenSchema(kind), false)
	d := e.evaluate([]layer{{src, s.with("driver", driverValue())}}, src.typ.schema, false)
	w.Driver = &steps.Driver{Kind: kind, Tool: d.Text("tool")}
	if tool := w.Driver.Tool; tool != "" && !slices.Contains(metric.Tools(), tool) {
		e.report(problem(codeValue, d.at([]string{"tool"}), fmt.Sprintf("there is no tool %q", tool), choose(tool, metric.Tools(), "tools")))
	}
	if kind == steps.DriverExec {
		e.driverCommand(d, w.Driver)
	}
	return c.target(), w
}

// checkDriver reports, once for a benchmark, what its driver has no use for.
func (e *evaluator) checkDriver(b *block) bool {
	d := b.one("driver")
	if len(d.labels) == 0 {
		return false // reported
	}
	kinds := []string{steps.DriverExec, steps.DriverResults}
	ok := true
	switch d.labels[0] {
	case steps.DriverExec:
		if !d.has("command") && !d.doubtful {
			e.report(problem(codeMissing, d.header, "command is missing", "A driver of kind exec needs the program that it runs and its arguments."))
			ok = false
		}
	case steps.DriverResults:
		for _, a := range d.sorted() {
			if a.Name != "tool" {
				e.report(problem(codeArgument, a.NameRange, fmt.Sprintf("a driver of kind results has no %s", a.Name), "It runs nothing. Remove the argument."))
				ok = false
			}
		}
	default:
		e.report(problem(codeKind, d.labelAt[0], fmt.Sprintf("there is no driver of kind %q", d.labels[0]), choose(d.labels[0], kinds, "kinds of driver")))
		return false
	}
	for _, name := range undriven {
		at := b.at(name)
		inner := b.one(name)
		if inner != nil {
			at = inner.header
		}
		if inner != nil || b.has(name) {
			e.report(problem(codeArgument, at, fmt.Sprintf("a benchmark with a driver has no %s", name), "The driver decides what is sent and when. Say it in the driver's own arguments, and remove it here."))
			ok = false
		}
	}
	return ok
}

func (e *evaluator) driverCommand(o object, out *steps.Driver) {
	command, err := o.Texts("command")
	if o.Known("command") && (err != nil || len(command) == 0 || command[0] == "") {
		e.report(problem(codeValue, o.at([]string{"command"}), "command names no program",
			`Write the program and its arguments as a list: command = ["vllm", "bench", "serve", "--base-url", driver.base_url].`))
	}
	out.Command, out.Output = command, defaultDriverOutput
	if o.Has("output") {
		out.Output = o.Text("output")
	}
	if clean := filepath.Clean(out.Output); !filepath.IsLocal(clean) || clean == "." || strings.Contains(out.Output, "${") {
		e.report(problem(codeValue, o.at([]string{"output"}), "output must be a file below the run's own folder",
			"Write its name alone, such as output = \"results.json\"; the folder is driver.dir."))
	}
	env, err := o.Env("env")
	if err != nil {
		e.report(problem(codeValue, o.at([]string{"env"}), "env holds what is no text", sentence(err)))
	}
	out.Env = env
}
