package convert

import (
	"fmt"

	"github.com/servegate/pipeline/steps/record"
)

// Run is one result as it was found: a printed block, a row of a table or an object of a
// JSON file.
type Run struct {
	// Source is the name of the file and Line where the result begins in it, from 1.
	Source string
	Line   int
	// Format it was read from, and the Tool that measured it ("vllm", "sglang", …; "" if
	// the result does not say).
	Format Format
	Tool   string
	tools  Tools // that it was read with; nil for the standard ones
	// Params are what was found around the figures: arguments of the command, a dump of
	// the Namespace, headings, lines like "num_prompts: 8", fields of the JSON. Keys are
	// in snake case and canonical, see Param; values are text, numbers in their shortest
	// form.
	Params map[string]string
	// Metrics by id, in the registry's units (seconds, per second). An id that the registry
	// does not have is explained in Definitions. A figure without data is absent.
	Metrics map[string]float64
	// Definitions says for every id of Metrics that is not the registry's what it is.
	Definitions map[string]string
	Counts      Counts
	// Duration of the measurement in seconds, 0 if not said.
	Duration float64
	// Other holds the lines inside a block that no rule knows, by label, as printed.
	Other map[string]string
	// Engine is what the engine logged while the run lasted, of a long log lines evenly
	// spread for each engine that wrote it. The largest values are in Audit.
	Engine []EngineSample
	// Records of every request, where the file has them and ReadOptions asks for them.
	Records *record.Run
	// Audit holds what the file says of its client: flat numbers and texts.
	Audit map[string]any
	// notes for people, see Warnings.
	notes []note
	// SameAs is the line of the block in the same source that this row of a table (or this
	// summary) repeats, 0 if it stands for itself. Document leaves repetitions out.
	SameAs int
	// Cut is why the result is a part of one only, "" if it is whole: its figures are those
	// of an attempt that was given up.
	Cut string
	// loose are parameters that come from lines of the text alone: "Elapsed: 12 s" is one as
	// well as "seq_length: 80".
	loose map[string]bool
	// labels are parameters that a line or a heading above several results gives to all of
	// them, and that no command of this one confirms.
	labels map[string]bool
	// work holds what was measured to have been done ("requests"), where that
	// distinguishes cells. See separateByWork.
	work map[string]string
	// columnOf is the column, or the key of an object, that a parameter was read from.
	columnOf map[string]string
	// meanTokens are the tokens of a request, where their mean is reported and not their sum.
	meanTokens map[string]float64
	// unread are the columns with numbers that nothing here understands.
	unread []string
	// noData are the times that the result names without a value.
	noData map[string]bool
	// steps are those of the last digits that metrics were printed with, by id, in their units.
	steps map[string]float64
	// summary marks the result of several stages together, beside which each may have one.
	summary bool
	// seen are the counts and the duration while they are read.
	seen map[string]float64
	// countedPrompts reports whether the number of prompts is that of the requests in the result
	// itself, for want of another source.
	countedPrompts bool
	// served reports whether the command of the server is known, whose arguments are parameters.
	served bool
	// open marks a block that nothing closed.
	open bool
	// nan are the figures that are said to be no number.
	nan []entry
	// bare marks a block that was found without its first line.
	bare bool
}

// Counts of a run, as the tool counts.
type Counts struct {
	// Sent requests: succeeded and failed. 0 when only successes are reported.
	Sent, Succeeded, Failed int
	// FailedKnown is false when neither failures nor the number of requests are reported.
	FailedKnown bool
	// InputTokens and OutputTokens of the successful requests, 0 if not reported.
	InputTokens, OutputTokens int64
}

// At is where the run was found, "file:line".
func (r *Run) At() string { return fmt.Sprintf("%s:%d", r.Source, r.Line) }

// put stores a value in a map, and makes the map if there is none.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// Error is a figure or a structure that cannot be read.
type Error struct {
	Source string
	Line   int
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.Source, e.Line, e.Err) }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }
