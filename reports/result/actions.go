package result

import (
	"cmp"

	"github.com/servegate/pipeline/gates"
)

// Action is the reaction of a gate to a verdict.
type Action string

// The actions.
const (
	Fail   Action = "fail"
	Warn   Action = "warn"
	Ignore Action = "ignore"
)

// Actions holds the actions that a gate sets for verdicts, in the file, the plan and the document.
type Actions struct {
	// Action for each verdict. If absent, the default applies: regression, missing and invalid
	// fail; inconclusive warns, or fails if an improvement is expected.
	OnRegression   Action `json:"on_regression,omitempty"`
	OnInconclusive Action `json:"on_inconclusive,omitempty"`
	OnMissing      Action `json:"on_missing,omitempty"`
	OnInvalid      Action `json:"on_invalid,omitempty"`
}

// ActedOn returns the verdicts that have an action. Passes and improvements have none.
func ActedOn() []Verdict { return []Verdict{Regression, Inconclusive, Missing, Invalid} }

// At returns a pointer to the stated action for a verdict, nil for a verdict without actions.
func (a *Actions) At(v Verdict) *Action {
	switch v {
	case Regression:
		return &a.OnRegression
	case Inconclusive:
		return &a.OnInconclusive
	case Missing:
		return &a.OnMissing
	case Invalid:
		return &a.OnInvalid
	}
	return nil
}

// CanFail reports whether a regression fails the file, so that the gate's comparisons share its
// error rate.
func (a Actions) CanFail() bool { return a.OnRegression == Fail }

// On returns the action of g for v: the stated one, or its default. Passes and improvements are
// ignored.
func (g *Gate) On(v Verdict) Action {
	stated := g.At(v)
	if stated == nil {
		return Ignore
	}
	def := Fail
	if v == Inconclusive && g.Expect != gates.ExpectImprovement {
		def = Warn
	}
	return cmp.Or(*stated, def)
}
