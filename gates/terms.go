package gates

import "github.com/servegate/pipeline/gates/metric"

// Terms hold what a gate of a file states about its comparisons. The language reads them, and the
// plan and the result document have them whole. [Comparison] has Claim and Rule alone: an argument
// that decides a single comparison is a field of one of these two.
//
// The order of the fields is the order of the members in JSON, which the fingerprint of a plan is made from.
type Terms struct {
	Claim
	// SuiteMargin is the margin of all cells together, 0 where they are not compared so.
	SuiteMargin metric.Margin `json:"suite_margin,omitempty" bounds:"0,"`
	Rule
	// AllowOverload compares percentiles of runs whose backlog grew, too.
	AllowOverload bool `json:"allow_overload,omitempty"`
}

// Claim holds what a comparison decides about.
type Claim struct {
	Margin metric.Margin `json:"margin,omitempty" bounds:"0,"`
	// Expect is "improvement" where the head has to show that it is better by more than the
	// margin, which may be 0. Such a gate passes with the verdict "improvement" alone.
	Expect Expectation `json:"expect,omitempty"`
}

// Rule holds how a comparison is decided. A gate with its own alpha takes that share of the family's
// alpha. The other gates share the rest by one Holm correction.
type Rule struct {
	// Alpha overrides the alpha of the document if it is set.
	Alpha    float64 `json:"alpha,omitempty" bounds:"0,1"`
	TestName string  `json:"test,omitempty"`   // of significance, by its name
	Strict   bool    `json:"strict,omitempty"` // the margin must be excluded, too
}
