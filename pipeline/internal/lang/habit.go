package lang

import "slices"

// use is a set of syntactic positions of a name.
type use int

// The positions of a name.
const (
	inBlock     use = 1 << iota // NAME { … }
	inRoot                      // NAME.something
	inCall                      // NAME(…)
	inArgument                  // NAME = …
	inExtending                 // NAME = … of a block that may extend another
)

// habit holds names from other languages, and how this language does the same.
type habit struct {
	uses  use
	names []string
	here  string
}

// habits come from Terraform, Terragrunt, Packer, docker bake, GitHub Actions, k6 and Nomad, and from earlier
// versions of this program. Such a name is not treated as a misspelt name of this language, however similar.
var habits = []habit{
	{inBlock, []string{"lanes"},
		"This version measures one repeat at a time on a machine. Start several runners, or spread repeats over the machines of a docker, " +
			"slurm or kubernetes block by machines { }."},
	{inArgument, []string{"interference"},
		"A machine has no neighbours to model: this version measures one repeat at a time there. Leave it out."},
	{inArgument, []string{"confirm"},
		"This version does not run regressions again on a second machine. Run the file there in a second job, or measure on both machines by " +
			"machines { }."},
	{inArgument, []string{"read_ahead"},
		"This version reads no weights before a start. A server that depends_on a step \"exec\" which reads its model's files finds them in " +
			"the page cache: see the questions in the documentation."},
	{inRoot | inCall, []string{"env", "getenv", "get_env", "environ"},
		`The environment is read through variables: write variable "NAME" {} and set PIPELINE_VAR_NAME, or --var NAME=VALUE. A server's own environment is its argument env = { NAME = "value" }.`},
	{inRoot, []string{"secrets", "secret", "github", "inputs", "input", "vars", "runner", "job", "needs"},
		`Values of the CI come in through variables: write variable "NAME" {} (with sensitive = true for a secret), pass --var NAME=VALUE or set PIPELINE_VAR_NAME, and refer to var.NAME.`},
	{inBlock | inArgument | inRoot, []string{"count"},
		`Write for_each = toset(["a", "b"]) and refer to each.key; for_each = var.on ? toset(["x"]) : toset([]) makes one block or none. ` +
			`To measure more often, write repeat { … } in the benchmark, with min and max.`},
	{inBlock, []string{"dynamic"},
		"Nested blocks are not made by a loop. A whole server, deployment, step or gate has for_each, and a benchmark has a matrix."},
	{inBlock | inRoot, []string{"module", "include", "import", "dependency", "mod"},
		`All *.pipeline.hcl files of a directory are one pipeline. Share values by locals and variables, and servers by extends = server.KIND.NAME.`},
	{inCall, []string{"include", "import", "read_terragrunt_config", "load"},
		`All *.pipeline.hcl files of a directory are one pipeline. Data are read by jsondecode(file("NAME")) or yamldecode(file("NAME")).`},
	{inBlock | inRoot, []string{"data"},
		`Data are read by jsondecode(file("NAME")), yamldecode(file("NAME")), or come from a step: write step "exec" "NAME" { … } and refer to step.exec.NAME.outputs.OUTPUT.`},
	{inBlock, []string{"resource", "service", "container", "job", "task", "source", "build", "target"},
		`What is launched is a server "KIND" "NAME" { … }, or several of them in a deployment "NAME" { … }. A benchmark "NAME" { … } measures them.`},
	{inRoot, []string{"resource"}, "Refer to a server as server.KIND.NAME."},
	{inBlock | inRoot, []string{"output", "outputs"},
		`Results are written by report "file" "NAME" { path = … }. What a step finds out is step.KIND.NAME.outputs.OUTPUT.`},
	{inBlock, []string{"provider", "terraform", "packer", "required_providers", "plugin", "backend"},
		`Engines are built in: write server "vllm" "NAME" { … }. Settings of the file stand in pipeline { … }, required_version among them.`},
	{inRoot, []string{"path", "terraform", "packer", "terragrunt"},
		"Paths are resolved against the folder of the pipeline file: write them relative to it. Instead of a workspace, use a variable."},
	{inBlock, []string{"var", "variables", "parameter", "input", "inputs"}, `Write variable "NAME" { … }, one block for each.`},
	{inRoot, []string{"variable", "variables", "parameters", "param"}, "Refer to a variable as var.NAME."},
	{inBlock, []string{"local"}, "Write locals { NAME = … }."},
	{inRoot, []string{"locals"}, "Refer to a local value as local.NAME."},
	{inBlock, []string{"lifecycle", "provisioner", "connection", "moved", "removed", "check", "override"},
		"Servers live for one launch and keep no state. A condition on what was measured is an assert block in a gate."},
	{inBlock | inArgument, []string{"thresholds", "threshold", "slo", "stages", "scenarios", "options"},
		"A limit is gate \"NAME\" { assert { condition = self.ttft.p99 < 0.5 } }; what is sent stands in the load block of a benchmark."},
	{inArgument, []string{"request_rate", "qps", "rps"}, "Write rate = 4 in the load block of a benchmark: requests per second."},
	{inArgument, []string{"num_prompts", "num_requests", "request_count"}, "Write requests = 200 in the load block of a benchmark."},
	{inArgument, []string{"concurrency", "num_concurrent", "users", "vus"},
		"Write arrival = \"closed\" and max_concurrency = 8 in the load block of a benchmark: users who wait for their answers."},
	{inRoot, []string{"inf", "infinity", "Infinity"},
		"To send all requests at once, write arrival = \"unlimited\" in the load block of a benchmark, without a rate."},
	{inRoot, []string{"True", "False", "None"}, "Write true, false or null."},
	{inExtending, []string{"inherits", "inherit", "from", "base"}, "Write extends = server.KIND.NAME."},
	{inArgument, []string{"if", "when", "enabled", "condition"},
		`To leave a block out, write for_each = var.on ? toset(["x"]) : toset([]); to leave cells out, write exclude { when = … } in the matrix, or where = … in the gate.`},
	{inArgument, []string{"needs", "needs_steps", "after", "wait_for"}, "Write depends_on = [step.KIND.NAME]."},
	{inArgument, []string{"iterations", "runs", "repetitions", "samples"}, "Write repeat { … } in the benchmark, with min and max."},
	{inCall, []string{"sensitive", "nonsensitive", "issensitive", "secret"},
		`A value is secret by its variable: variable "NAME" { sensitive = true }. It may reach env, headers and api_key.`},
	{inCall, []string{"timestamp", "plantimestamp", "now", "uuid", "uuidv4", "random", "rand", "bcrypt", "timeadd", "formatdate"},
		"Functions give the same result each time, so that a file has one plan: they read no clock and draw no random number. " +
			"Pass such a value with --var."},
	{inCall, []string{"fileexists", "fileset", "abspath", "pathexpand", "filebase64", "filesha256", "filemd5", "glob"},
		`Only file("NAME") and templatefile("NAME", { … }) read files, below the folder of the pipeline file. List the names in a local value.`},
	{inCall, []string{"http", "exec", "shell", "run", "command", "run_cmd"},
		`Expressions start nothing: write step "exec" "NAME" { command = [...] } or step "http" "NAME" { … } and refer to its outputs.`},
	{inCall, []string{"print", "println", "debug", "console"},
		"Evaluate an expression with --var and look at `pipeline plan`; every error shows the values that it used."},
	{inCall, []string{"len", "size"}, "Write length(…)."},
	{inCall, []string{"contains_string", "includes", "has"}, "Write strcontains(text, part) for texts, and contains(list, value) for lists."},
	{inCall, []string{"map", "list", "object", "tuple"}, "Write { a = 1 } for a map and [1, 2] for a list."},
	{inCall, []string{"set"}, "Write toset([1, 2])."},
	{inCall, []string{"string", "str", "int", "number", "float", "bool"}, "Write tostring(…), tonumber(…) or tobool(…)."},
}

// here explains how to do here what another language calls name, "" if there is no such habit.
func here(name string, as use) string {
	for _, h := range habits {
		if h.uses&as != 0 && slices.Contains(h.names, name) {
			return h.here
		}
	}
	return ""
}
