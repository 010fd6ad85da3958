package convert

import (
	"fmt"

	"github.com/servegate/pipeline/steps/record"
)

// Run is one imported result: a printed block, a row of a table or an object of a JSON file.
type Run struct {
	// Source is the name of the file, and Line the first line of the result in it, from 1.
	Source string
	Line   int
	// Format of the result, and the Tool that measured it ("vllm", "sglang", …; "" if unknown).
	Format Format
	Tool   string
	tools  Tools // used to read it; nil for the standard ones
	// Params come from the text around the figures: arguments of the command, a dump of the
	// Namespace, headings, lines such as "num_prompts: 8", fields of the JSON. Keys are in snake
	// case and canonical, see Param. Values are text, numbers in shortest form.
	Params map[string]string
	// Metrics by id, in the units of the registry (seconds, per second). Ids outside the registry
	// are in Definitions. A figure without data is absent.
	Metrics map[string]float64
	// Definitions has the meaning of every id of Metrics outside the registry.
	Definitions map[string]string
	Counts      Counts
	// Duration of the measurement in seconds, 0 if unknown.
	Duration float64
	// Other has the unknown lines of a block, by label, as printed.
	Other map[string]string
	// Engine has log lines of the engine during the run, of a long log an even selection for each
	// engine. The largest values are in Audit.
	Engine []EngineSample
	// Records of every request, if the file has them and ReadOptions requests them.
	Records *record.Run
	// Audit has what the file reports of its client: flat numbers and texts.
	Audit map[string]any
	// notes for people, see Warnings.
	notes []note
	// SameAs is the line of the block in the same source that this table row or summary repeats,
	// otherwise 0. Document omits repetitions.
	SameAs int
	// Cut is why the result is incomplete, from an abandoned attempt, "" if it is whole.
	Cut string
	// loose are parameters from plain lines of the text: "Elapsed: 12 s" is one, like "seq_length:
	// 80".
	loose map[string]bool
	// labels are parameters from a line or a heading above several results that the command of this
	// one does not confirm.
	labels map[string]bool
	// work has measured work ("requests") that distinguishes cells. See separateByWork.
	work map[string]string
	// columnOf is the column or object key of a parameter.
	columnOf map[string]string
	// meanTokens are the mean tokens of a request, if reported in place of the sum.
	meanTokens map[string]float64
	// unread are columns with numbers of unknown meaning.
	unread []string
	// annotated are labels of figures with more than a number and a unit as their value.
	annotated []string
	// skipped are rows of a table of distributions that are not read.
	skipped []string
	// noData are times that the result names without a value.
	noData map[string]bool
	// steps are the steps of the last printed digit of metrics, by id, in their units.
	steps map[string]float64
	// summary marks the total of several stages, which may have results of their own.
	summary bool
	// seen are the counts and the duration so far.
	seen map[string]float64
	// countedPrompts reports that the number of prompts was taken from the requests in the result.
	countedPrompts bool
	// served reports that the server command is known; its arguments are parameters.
	served bool
	// open marks a block without an end.
	open bool
	// nan are the figures printed as NaN.
	nan []entry
	// bare marks a block without its first line.
	bare bool
}

// Counts of a run, as the tool counts.
type Counts struct {
	// Sent requests: succeeded and failed. 0 if only successes are reported.
	Sent, Succeeded, Failed int
	// FailedKnown is false if neither failures nor the number of requests are reported.
	FailedKnown bool
	// InputTokens and OutputTokens of the successful requests, 0 if not reported.
	InputTokens, OutputTokens int64
}

// At returns the position of the run, "file:line".
func (r *Run) At() string { return fmt.Sprintf("%s:%d", r.Source, r.Line) }

// put stores a value in a map, which it makes if nil.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = v
}

// Error is a figure or structure that cannot be read.
type Error struct {
	Source string
	Line   int
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.Source, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
