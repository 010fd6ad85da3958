// Package bisection reports the result of a search for the candidate that made a server slower: as
// a document, a report and a page with the curve over the candidates.
package bisection

import (
	"cmp"
	"io"

	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/text"
)

// Schema is the version of the JSON that JSON writes.
const Schema = "pipeline/bisect/1.0"

// Answer is the result of a search.
type Answer string

// The answers.
const (
	Found     Answer = "found"     // every step is at one candidate
	Range     Answer = "range"     // a step is in a range of several candidates
	None      Answer = "none"      // there is no step between the ends
	Undecided Answer = "undecided" // the ends could not be distinguished
	Unfit     Answer = "unfit"     // the ends differ in something that cannot be searched for
)

// Document is a search.
type Document struct {
	Schema string `json:"schema"`
	Tool   string `json:"tool,omitempty"`
	File   string `json:"file"`
	// Simulated is what replaced the servers, as in results.json.
	Simulated string `json:"simulated,omitempty"`
	Answer    Answer `json:"answer"`
	// Reason is the verdict of the gates on the ends.
	Reason string `json:"reason,omitempty"`
	// Confidence that was requested, and the total number of Launches.
	Confidence float64 `json:"confidence" bounds:"0,1"`
	Launches   int     `json:"launches"`
	// Gate and Metric, in the cell with these values, that the search used; absent if the ends were
	// not distinguished. Unit is "%" for ratios.
	Gate        string `json:"gate,omitempty"`
	Metric      string `json:"metric,omitempty"`
	MetricLabel string `json:"metric_label,omitempty"`
	Cell        string `json:"cell,omitempty"`
	Unit        string `json:"unit,omitempty"`
	// SD is the standard deviation of a pair.
	SD float64 `json:"sd,omitempty"`
	// NoStep is the probability of no step, TwoSteps that of two.
	NoStep   float64 `json:"no_step,omitempty" bounds:"0,1"`
	TwoSteps float64 `json:"two_steps,omitempty" bounds:"0,1"`
	// Several reports that no single candidate brought the whole change. A step of several candidates is
	// then the shortest range that brings more than half of it.
	Several bool `json:"several,omitempty"`
	// Steps that were found, in order.
	Steps []Step `json:"steps,omitempty"`
	// Candidates from the good end to the bad one.
	Candidates []Candidate `json:"candidates"`
	Probes     []Probe     `json:"probes,omitempty"`
	Notes      []string    `json:"notes,omitempty"`
}

// Step is a change of the metric: one of the candidates after Good, up to Bad, caused it.
type Step struct {
	Good        string  `json:"good"`
	Bad         string  `json:"bad"`
	Candidates  int     `json:"candidates"` // number of possible candidates
	Probability float64 `json:"probability" bounds:"0,1"`
	Change      float64 `json:"change"` // in Unit of the document
	Worse       bool    `json:"worse"`
}

// Candidate is one candidate of the list.
type Candidate struct {
	Ref     string `json:"ref"`
	Subject string `json:"subject,omitempty"`
	// Pairs in which it was measured, and their mean change against the good end.
	Pairs  int      `json:"pairs"`
	Change *float64 `json:"change,omitempty"`
	// Level is the expected change against the good end, Probability that of a step here.
	Level       float64 `json:"level"`
	Probability float64 `json:"probability" bounds:"0,1"`
	// Unusable is why it could not be measured.
	Unusable string `json:"unusable,omitempty"`
	Reverts  string `json:"reverts,omitempty"`
	// ChangesFile is set if it changes the pipeline file. The present file is used nonetheless.
	ChangesFile bool `json:"changes_file,omitempty"`
}

// Probe is one pair.
type Probe struct {
	Ref    string  `json:"ref"`
	Change float64 `json:"change"`
	Run    string  `json:"run"` // its run directory
}

// JSON writes d as indented JSON.
func JSON(w io.Writer, d *Document, _ model.Options) error { return model.JSON(w, d) }

// Markdown writes d as GitHub-flavoured markdown, within Options.Budget.
func Markdown(w io.Writer, d *Document, o model.Options) error {
	o.Budget = cmp.Or(o.Budget, markdown.SummaryBudget)
	return markdown.Write(w, d.report(), o)
}

// Text writes d for a terminal.
func Text(w io.Writer, d *Document, o model.Options) error { return text.Write(w, d.report(), o) }
