package lang

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
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
			{Name: "tool", Type: cty.String, Enum: enum.Of(metric.Tools()...),
				Doc: "Tool whose definitions hold where the results do not say which it was."},
		}},
		kinds: []steps.Kind{
			{
				Name: steps.DriverExec,
				Doc:  "A program that is run once for each run, against the target, and leaves its results in any format that import reads.",
				Schema: steps.Schema{Attrs: []steps.Attr{
					{Name: "command", Type: cty.List(cty.String), Required: true, Doc: "The program and its arguments, one word each; no shell reads " +
						"them. driver.base_url, driver.host, driver.port, driver.model, driver.seed, driver.repeat, driver.dir and driver.output are known " +
						"when it runs."},
					{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Doc: "Environment variables of the command. Secrets belong here."},
					{Name: "output", Type: cty.String, Default: cty.StringVal("results.json"),
						Doc: "File below driver.dir that the command leaves its results in, which driver.output is the path of."},
				}},
			},
			{
				Name: steps.DriverEvaluation, Doc: "A program that asks the target questions and scores the answers, once for each run, after what " +
					"else is measured in a launch. Each run has metric.evaluation.score, and its questions are compared one by one.",
				Schema: steps.Schema{Attrs: []steps.Attr{
					{Name: "command", Type: cty.List(cty.String), Required: true,
						Doc: "As of exec: lm_eval with --log_samples and --output_path driver.dir, or a program of your own."},
					{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Doc: "Environment variables of the command. Secrets belong here."},
					{Name: "output", Type: cty.String, Default: cty.StringVal("scores.jsonl"), Doc: "File below driver.dir, which driver.output is the " +
						"path of, with a line such as {\"id\": \"q1\", \"score\": 1} for each question. Without it, all samples_*.jsonl of lm-eval below " +
						"driver.dir are read."},
					{Name: "questions", Type: cty.Number, Required: true,
						Doc: "How many questions each run scores. The same ones in each run; a run with fewer or more is void."},
					{Name: "score", Type: cty.String, Doc: "Name of the score that counts, where a question has several, such as \"exact_match\"."},
					{Name: "filter", Type: cty.String,
						Doc: "Filter of lm-eval that counts, where answers were read in several ways, such as \"strict-match\"."},
					{Name: "family", Type: cty.String, Doc: "Field of a question, or of lm-eval's doc, whose value is the question's family, such as " +
						"\"passage\". Questions of a family tend to be answered alike, so the error is that over families. A line of one's own " +
						"states it as family without this."},
					{Name: "accuracy", Type: cty.Number, Unit: steps.UnitPercent,
						Doc: "Share of the questions that are answered in virtual time, where no program is run. May depend on the cell."},
				}},
			},
			{
				Name: steps.DriverOffline,
				Doc: "The target's own program, which measures an engine in its own process: server \"offline\". Each run starts it once and reads " +
					"what it wrote.",
				Schema: steps.Schema{Attrs: []steps.Attr{
					{Name: "command", Type: cty.List(cty.String), Required: true, Doc: "Words behind the program: the benchmark and its own " +
						"arguments, the same for all sides. driver.output is the file that is read afterwards; driver.seed and driver.repeat are known."},
					{Name: "output", Type: cty.String, Default: cty.StringVal("results.json"), Doc: "Name of the file that driver.output is the path of."},
				}},
			},
			{Name: steps.DriverResults,
				Doc: "Nothing is run: the cells are filled from files with `pipeline gate FILE --results`. The benchmark has no target."},
		},
	}
}

// placeholders returns an object that a command refers to, such as driver. It holds placeholders that are replaced
// when the command is run.
func placeholders(vars map[string]string, placeholder func(string) string) cty.Value {
	values := make(map[string]cty.Value, len(vars))
	for name := range vars {
		values[name] = cty.StringVal(placeholder(name))
	}
	return cty.ObjectVal(values)
}

// undriven lists the parts of a benchmark that only our own load generator uses.
var undriven = []string{
	"dataset", "endpoint", "input_len", "output_len", "prefix_len", "ignore_eos", "temperature", "body", "models", "request_timeout",
	"warmup", "load", "goodput", "limits",
}

// drivenSchema returns the arguments that a cell of a benchmark with a driver has.
func drivenSchema(kind string) steps.Schema {
	a, _ := steps.Schema{Attrs: workloadAttrs()}.Attr("target")
	a.Required = kind != steps.DriverResults
	return steps.Schema{Attrs: []steps.Attr{a}}
}

// driven evaluates a cell that a driver measures.
func (e *evaluator) driven(b *block, s *scope) (target string, w steps.Workload) {
	src := b.one("driver")
	kind := src.kind.Name
	c := cell{evaluator: e, scope: s, block: b}
	c.object = e.evaluate([]layer{{b, s}}, drivenSchema(kind), false)
	vars := placeholders(steps.DriverVarsOf(kind), steps.DriverVar)
	d := e.evaluate([]layer{{src, s.with("driver", vars)}}, src.typ.schema, false)
	w.Driver = &steps.Driver{Kind: kind, Tool: d.Text("tool")}
	if w.Driver.Runs() {
		e.driverCommand(d, w.Driver)
	}
	if kind == steps.DriverOffline {
		e.checkOutput(d, w.Driver)
	}
	if kind == steps.DriverEvaluation {
		w.Driver.Evaluation = e.questions(d)
	}
	return c.target(), w
}

// checkOutput reports a command of driver "offline" that does not name the file which is read afterwards.
func (e *evaluator) checkOutput(o object, d *steps.Driver) {
	named := func(word string) bool { return strings.Contains(word, steps.DriverVar("output")) }
	if o.Known("command") && !slices.ContainsFunc(d.Command, named) {
		e.report(problem(codeValue, o.at("command"), "the program is not told where to write",
			`Nothing would be there to read. Give it driver.output: command = ["bench", "latency", "--output-json", driver.output].`))
	}
}

// checkDriver reports, once for a benchmark, arguments that its driver does not use.
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
			e.report(problem(codeArgument, at, fmt.Sprintf("a benchmark with a driver has no %s", name),
				"The driver decides what is sent and when. Say it in the driver's own arguments, and remove it here."))
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
		e.report(problem(codeValue, o.at("env"), "env must be a map of strings", diag.Sentence(err)))
	}
	out.Env = env
}

// maxQuestions bounds an evaluation: results.json holds every score.
const maxQuestions = 20_000

// questions reads the settings of an evaluation.
func (e *evaluator) questions(o object) *steps.Evaluation {
	if o.Text("tool") != "" {
		e.report(problem(codeArgument, o.at("tool"), "a driver that evaluates has no tool",
			"A tool says how a load generator defines its figures. Name what counts of a question with score and filter."))
	}
	out := &steps.Evaluation{Score: o.Text("score"), Filter: o.Text("filter"), Family: o.Text("family")}
	if o.Known("questions") {
		n := o.Float("questions")
		if out.Questions = int(n); n != math.Trunc(n) || n < 2 || n > maxQuestions {
			e.report(problem(codeValue, o.at("questions"), fmt.Sprintf("questions must be a whole number from 2 to %d", maxQuestions),
				fmt.Sprintf("It is %g.", n)))
		}
	}
	out.Accuracy = e.share(o, "accuracy", false, 1, "Write eighty percent as \"80%\" or 0.8.")
	return out
}
