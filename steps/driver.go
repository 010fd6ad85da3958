package steps

import (
	"maps"
	"slices"
)

// Driver measures the cells of a benchmark in place of the built-in load generator.
type Driver struct {
	// Kind is DriverExec for a program that is run once for each run, DriverEvaluation for one
	// that asks questions and scores the answers, DriverOffline for words of the target's own
	// program, or DriverResults for results that were measured elsewhere and are only judged.
	Kind string `json:"kind"`
	// Command is the program and its arguments. It may hold the placeholders of DriverVars.
	Command []string `json:"command,omitempty"`
	// Env are variables of the command beside those of its kind. Their values may be
	// secret, so they are not part of the cell's identity.
	Env []EnvVar `json:"-"`
	// Output is the file, below the run's folder, in which the command leaves its results.
	Output string `json:"output,omitempty"`
	// Tool names the tool whose definitions apply if the results do not name one.
	Tool string `json:"tool,omitempty"`
	// Evaluation describes the questions of DriverEvaluation; nil for all other kinds.
	Evaluation *Evaluation `json:"evaluation,omitempty"`
}

// Evaluation is a set of questions that a program asks a server, each with a score.
type Evaluation struct {
	// Questions that each run has to score.
	Questions int `json:"questions"`
	// Score and Filter select one score of a question with several, or one way to read its answers; empty if
	// there is only one.
	Score  string `json:"score,omitempty"`
	Filter string `json:"filter,omitempty"`
	// Family is the field that holds a question's family, whose questions tend to be answered alike.
	Family string `json:"family,omitempty"`
	// Accuracy is the share of questions that the model of virtual time answers, where no
	// program is run. It is not part of the cell's identity, because sides may have others.
	Accuracy float64 `json:"-"`
}

// The kinds of drivers.
const (
	DriverExec       = "exec"
	DriverEvaluation = "evaluation"
	DriverOffline    = "offline"
	DriverResults    = "results"
)

// DriverVars maps the placeholders of a command, without the prefix "driver.", to their descriptions.
var DriverVars = map[string]string{
	"base_url": "the server's address without a path, such as http://127.0.0.1:8000",
	"host":     "the host in base_url",
	"port":     "the port in base_url",
	"model":    "the name under which the server serves the model",
	"seed":     "a number that is the same on all sides of a repeat and another in each repeat",
	"repeat":   "the number of the repeat, from 1",
	"dir":      "an empty folder of this run",
	"output":   "the file in that folder that is read afterwards",
}

// DriverVarsOf returns those of DriverVars that a kind of driver has. A program of the target has no server, and its folder
// is in the place of the target.
func DriverVarsOf(kind string) map[string]string {
	vars := maps.Clone(DriverVars)
	if kind == DriverOffline {
		maps.DeleteFunc(vars, func(name, _ string) bool { return !slices.Contains([]string{"output", "seed", "repeat"}, name) })
	}
	return vars
}

// DriverVar is the placeholder of a value. It is written as a reference in a file is.
func DriverVar(name string) string { return "${driver." + name + "}" }

// Runs reports whether a program runs in place of the built-in load generator.
func (d *Driver) Runs() bool { return d != nil && d.Kind != DriverResults }
