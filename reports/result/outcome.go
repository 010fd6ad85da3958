package result

import "slices"

// Cause is what a document comes to: the first row of the table of outcomes that applies to it.
type Cause string

// The causes, in the order in which they decide.
const (
	CauseRegression     Cause = "regression"     // a comparison regressed, or the head fails where the base works
	CauseFailed         Cause = "failed"         // the session failed: no target works, the base is given up, a timeout
	CauseLimit          Cause = "limit"          // a limit is broken
	CauseInfrastructure Cause = "infrastructure" // a base fails too
	CauseInterrupted    Cause = "interrupted"    // a signal ended the session
	CauseUnjudged       Cause = "unjudged"       // missing or invalid, in a gate that fails for it
	CauseUndecided      Cause = "undecided"      // inconclusive, in a gate that fails for it
	CauseTolerated      Cause = "tolerated"      // regression, missing or invalid, in a gate that does not fail for it
	CauseInconclusive   Cause = "inconclusive"   // inconclusive, in a gate that does not fail for it
	CauseUngated        Cause = "ungated"        // measured, and there is no gate
	CausePass           Cause = "pass"           // every gate passes
)

// Check is the conclusion of a check run.
type Check string

// The conclusions of check runs.
const (
	CheckSuccess   Check = "success"
	CheckFailure   Check = "failure"
	CheckNeutral   Check = "neutral"
	CheckCancelled Check = "cancelled"
)

// CommitState is the state of a commit status. There is no neutral one.
type CommitState string

// The states of commit statuses.
const (
	StateSuccess CommitState = "success"
	StateFailure CommitState = "failure"
	StateError   CommitState = "error"
	StatePending CommitState = "pending"
)

// Outcome is all that follows from the cause of a document.
type Outcome struct {
	Cause Cause
	// Exit is the exit status that the document asks for.
	Exit int
	// Check is the conclusion of the check run: a failure blocks merging, neutral does not and is no success.
	Check Check
	// State is the state of the commit status: only a pass is a success.
	State CommitState
	// Headline is the verdict in words, with [Repeats] in place of how many repeats were finished; "" where the
	// gates are counted by their verdicts.
	Headline string
	// Next is what to do about it, in sentences; "" where there is nothing to do.
	Next string
	// Accept is set where a person can accept the result, since it blocks merging and was measured.
	Accept bool

	applies func(facts) bool
}

// Repeats stands in a headline for the repeats that were finished.
const Repeats = "{repeats}"

// outcomes is the one table of what a document comes to. The first row that applies decides, so that a
// regression that was found stays one, whatever else failed.
var outcomes = []Outcome{
	{
		Cause: CauseRegression, Exit: ExitRegression, Check: CheckFailure, State: StateFailure, Accept: true,
		applies: func(f facts) bool { return f.regressed },
	},
	{
		Cause: CauseFailed, Exit: ExitInfrastructure, Check: CheckNeutral, State: StateError,
		Headline: "infrastructure failure, no verdict on the change",
		Next:     "Repair what failed and measure again; there is nothing to accept.",
		applies:  func(f facts) bool { return f.status == StatusFailed },
	},
	{
		Cause: CauseLimit, Exit: ExitRegression, Check: CheckFailure, State: StateFailure, Accept: true,
		applies: func(f facts) bool { return f.broken },
	},
	{
		Cause: CauseInfrastructure, Exit: ExitInfrastructure, Check: CheckNeutral, State: StateError,
		Headline: "infrastructure failure, no verdict on the change",
		Next: "The base fails too, so the change is not the cause: repair the base or the machine and measure again; there is nothing to " +
			"accept.",
		applies: func(f facts) bool { return f.infrastructure },
	},
	{
		Cause: CauseInterrupted, Exit: ExitUndecided, Check: CheckCancelled, State: StateError,
		Headline: "interrupted after " + Repeats + ", no verdict",
		Next:     "run --resume goes on with it.",
		applies:  func(f facts) bool { return f.status == StatusInterrupted },
	},
	{
		Cause: CauseUnjudged, Exit: ExitUndecided, Check: CheckFailure, State: StateFailure, Accept: true,
		Next:    "Mend what the reasons name and measure again.",
		applies: func(f facts) bool { return f.unjudged },
	},
	{
		Cause: CauseUndecided, Exit: ExitUndecided, Check: CheckFailure, State: StateFailure, Accept: true,
		Next:    "This blocks merging, since the file fails for what is not decided.",
		applies: func(f facts) bool { return f.undecided },
	},
	{
		Cause: CauseTolerated, Exit: ExitOK, Check: CheckNeutral, State: StatePending,
		Next:    "The file does not fail for this, so it does not block merging.",
		applies: func(f facts) bool { return f.tolerated },
	},
	{
		Cause: CauseInconclusive, Exit: ExitOK, Check: CheckNeutral, State: StatePending,
		Next:    "This does not block merging.",
		applies: func(f facts) bool { return f.inconclusive },
	},
	{
		Cause: CauseUngated, Exit: ExitOK, Check: CheckSuccess, State: StateSuccess, Headline: "measured, no gates",
		applies: func(f facts) bool { return !f.gated },
	},
	{
		Cause: CausePass, Exit: ExitOK, Check: CheckSuccess, State: StateSuccess,
		applies: func(facts) bool { return true },
	},
}

// OutcomeOf returns the row of a cause.
func OutcomeOf(c Cause) Outcome {
	return outcomes[slices.IndexFunc(outcomes, func(o Outcome) bool { return o.Cause == c })]
}

// Causes returns all causes, in the order in which they decide.
func Causes() []Cause {
	var all []Cause
	for _, o := range outcomes {
		all = append(all, o.Cause)
	}
	return all
}

// Outcome returns what the document comes to.
func (d *Document) Outcome() Outcome {
	f := factsOf(d)
	return outcomes[slices.IndexFunc(outcomes, func(o Outcome) bool { return o.applies(f) })]
}

// facts are what the rows of the table ask for.
type facts struct {
	status    Status
	gated     bool
	regressed bool // in a comparison
	broken    bool // of limits
	unjudged  bool // missing or invalid, and fails
	undecided bool // inconclusive, and fails

	infrastructure bool
	tolerated      bool // regression, missing or invalid, and does not fail
	inconclusive   bool // and does not fail
}

func factsOf(d *Document) facts {
	f := facts{status: d.Status, gated: len(d.Gates) > 0}
	for i := range d.Gates {
		g := &d.Gates[i]
		kind := KindMetric
		for _, one := range g.Decisions {
			kind = one.Kind
			f.infrastructure = f.infrastructure || one.Infrastructure
			f.add(g, one.Verdict, one.Kind)
		}
		f.add(g, g.Verdict, kind) // a gate is a limit in all of its decisions or in none
	}
	return f
}

// add notes a verdict of a gate.
func (f *facts) add(g *Gate, v Verdict, kind DecisionKind) {
	fails := g.On(v) == Fail
	switch v {
	case Regression:
		f.regressed = f.regressed || fails && kind != KindAssert
		f.broken = f.broken || fails && kind == KindAssert
		f.tolerated = f.tolerated || !fails
	case Missing, Invalid:
		f.unjudged = f.unjudged || fails
		f.tolerated = f.tolerated || !fails
	case Inconclusive:
		f.undecided = f.undecided || fails
		f.inconclusive = f.inconclusive || !fails
	}
}
