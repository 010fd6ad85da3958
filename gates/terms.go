package gates

import "github.com/servegate/pipeline/gates/metric"

// Terms are the statements of a gate in a file about its comparisons. The language decodes them, and
// the plan and the result document contain all of them. [Comparison] contains only Claim and Rule: an
// argument that decides a single comparison is a field of one of these.
//
// The order of the fields is the order of the JSON members, which determines the fingerprint of a plan.
type Terms struct {
	Claim
	// SuiteMargin is the margin of all cells together, 0 if they are not compared together.
	SuiteMargin metric.Margin `json:"suite_margin,omitempty" bounds:"0,"`
	Rule
	// AllowOverload also compares percentiles of runs whose backlog grew.
	AllowOverload bool `json:"allow_overload,omitempty"`
}

// Claim is the question that a comparison decides.
type Claim struct {
	Margin metric.Margin `json:"margin,omitempty" bounds:"0,"`
	// Expect is "improvement" if the head must be better by more than the margin, which may be 0.
	// Such a gate passes only with the verdict "improvement".
	Expect Expectation `json:"expect,omitempty"`
}

// Rule sets how a comparison is decided. A gate with its own alpha takes that share of the family's
// alpha. The other gates share the rest by one Holm correction.
type Rule struct {
	// Alpha overrides the alpha of the document if set.
	Alpha    float64 `json:"alpha,omitempty" bounds:"0,1"`
	TestName string  `json:"test,omitempty"`   // name of the significance test
	Strict   bool    `json:"strict,omitempty"` // regressions and improvements need a bound beyond the margin
}
