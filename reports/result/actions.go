package result

import (
	"cmp"

	"github.com/servegate/pipeline/gates"
)

// Action is what a gate does about a verdict.
type Action string

// The actions.
const (
	Fail   Action = "fail"
	Warn   Action = "warn"
	Ignore Action = "ignore"
)

// Actions are what a gate states to do about verdicts: those of the file, the plan and the document have them.
type Actions struct {
	// What each verdict does. Absent are the defaults: regression, missing and invalid fail,
	// inconclusive warns, or fails where an improvement is expected.
	OnRegression   Action `json:"on_regression,omitempty"`
	OnInconclusive Action `json:"on_inconclusive,omitempty"`
	OnMissing      Action `json:"on_missing,omitempty"`
	OnInvalid      Action `json:"on_invalid,omitempty"`
}

// ActedOn lists the verdicts that gates have an action for. Passes and improvements are never acted on.
func ActedOn() []Verdict { return []Verdict{Regression, Inconclusive, Missing, Invalid} }

// At returns the stated action for a verdict, to be read or set, and nil for a verdict that is never acted on.
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

// CanFail reports whether a regression fails the file, so that the gate's comparisons share its error rate.
func (a Actions) CanFail() bool { return a.OnRegression == Fail }

// On returns what g does about v: what it states, or the default of an action that the document
// does not state. Passes and improvements are ignored.
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
