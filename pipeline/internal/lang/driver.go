package lang

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

func driverType() *blockType {
	return &blockType{
		name: "driver", labels: []string{"kind"}, max: 1, byKind: true,
		doc: "Another load generator in the place of our own. A benchmark with a driver has no dataset, load or warmup.",
		schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "tool", Type: cty.String, Enum: enum.Of(metric.Tools()...), Doc: "Tool whose definitions hold where the results do not say which it was."},
		}},
		kinds: []steps.Kind{
			{
				Name: steps.DriverExec, Doc: "A program that is run once for each run, against the target, and leaves its results in any format that import reads.",
				Schema: steps.Schema{Attrs: []steps.Attr{
					{Name: "command", Type: cty.List(cty.String), Required: true, Doc: "The program and its arguments, one word each; no shell reads them. driver.base_url, driver.host, driver.port, driver.model, driver.seed, driver.repeat, driver.dir and driver.output are known when it runs."},
					{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Doc: "Environment variables of the command. Secrets belong here."},
					{Name: "output", Type: cty.String, Default: cty.StringVal("results.json"), Doc: "File below driver.dir that the command leaves its results in, which driver.output is the path of."},
				}},
			},
			{Name: steps.DriverResults, Doc: "Nothing is run: the cells are filled from files with `pipeline gate FILE --results`. The benchmark has no target."},
		},
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
	a, _ := benchmarkWorkload().Attr("target")
	a.Required = kind != steps.DriverResults
	return steps.Schema{Attrs: []steps.Attr{a}}
}

// driven evaluates a cell that a driver measures.
func (e *evaluator) driven(b *block, s *scope) (target string, w steps.Workload) {
	src := b.one("driver")
	kind := src.kind.Name
	c := cell{evaluator: e, scope: s, block: b}
	c.object = e.evaluate([]layer{{b, s}}, drivenSchema(kind), false)
	d := e.evaluate([]layer{{src, s.with("driver", driverValue())}}, src.typ.schema, false)
	w.Driver = &steps.Driver{Kind: kind, Tool: d.Text("tool")}
	if kind == steps.DriverExec {
		e.driverCommand(d, w.Driver)
	}
	return c.target(), w
}

// checkDriver reports, once for a benchmark, what its driver has no use for.
func (e *evaluator) checkDriver(b *block) bool {
	if b.one("driver").hasErrors {
		return false // reported
	}
	ok := true
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
		e.report(problem(codeValue, o.at("command"), "command names no program",
			`Write the program and its arguments as a list: command = ["vllm", "bench", "serve", "--base-url", driver.base_url].`))
	}
	out.Command, out.Output = command, o.Text("output")
	if clean := filepath.Clean(out.Output); !filepath.IsLocal(clean) || clean == "." || strings.Contains(out.Output, "${") {
		e.report(problem(codeValue, o.at("output"), "output must be a file below the run's own folder",
			"Write its name alone, such as output = \"results.json\"; the folder is driver.dir."))
	}
	env, err := o.Env("env")
	if err != nil {
		e.report(problem(codeValue, o.at("env"), "env holds what is no text", diag.Sentence(err)))
	}
	out.Env = env
}
