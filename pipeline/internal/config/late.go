package config

import (
	"strings"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// Outputs holds the outputs of steps by address and name.
type Outputs = map[string]map[string]string

// Late evaluates what is known only at run time.
type Late interface {
	// ResolveStep evaluates a step after those that it depends on have run.
	ResolveStep(addr string, outputs Outputs) (steps.Object, error)
	// ResolveServer evaluates a server after its steps have run. Every argument of the result is known.
	ResolveServer(addr string, outputs Outputs) (steps.ServerSpec, error)
	// ResolveDeployment evaluates a deployment after its steps have run.
	ResolveDeployment(addr string, outputs Outputs) (steps.DeploymentSpec, error)
	// EvalAssert evaluates the condition of the gate at an address on one cell. It returns the limits that make up
	// the condition, which all hold if the condition does. If it does not hold, it returns a message that explains
	// why. A condition that depends on a metric without a value does not hold.
	EvalAssert(gate string, cell []result.AxisValue, in AssertInput) (limits []Limit, message string, err error)
	// SecretsOf returns the secrets in outputs of steps: those named like a secret, and those that reach a
	// variable, a header or a key named like one.
	SecretsOf(outputs Outputs) []string
}

// LatePrefix begins the text that stands for a value waiting for a step.
const LatePrefix = "(known after "

// IsLate reports whether a text of a server stands for a value waiting for a step.
func IsLate(text string) bool { return strings.HasPrefix(text, LatePrefix) }

// AssertInput holds what was measured in one cell, for the condition of a gate.
type AssertInput struct {
	Metrics map[string]float64 // by ID, in their stored units (times in seconds)
	// Requests counts the requests sent, Errors those that failed.
	Requests, Errors int
}

// Limit is one comparison of an assert's condition, with its numbers on one cell. A
// condition is the conjunction of its limits.
type Limit struct {
	// Metric is the ID of the limited metric, "" for a count or arithmetic.
	Metric string
	// Text is the limited side as the file writes it.
	Text string
	// Op is "<", "<=", ">", ">=", "==" or "!=", with the limited side on the left. It is "" for a part of the
	// condition that does not compare numbers. Such a part has neither Value nor Limit.
	Op           string
	Value, Limit float64
	// Known is false if the limited side has no value.
	Known bool
	Holds bool
}

// Stored holds what a stored run keeps of the files that its pipeline read.
type Stored struct {
	// Folder holds copies of the files that file and templatefile read.
	Folder string
	// Sums holds the SHA-256 of the files of datasets by their path.
	Sums map[string]string
}
