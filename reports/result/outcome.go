package result

import "slices"

// Cause is the reason for the outcome of a document: the first matching row of the table of
// outcomes.
type Cause string

// The causes, in the order in which they are checked.
const (
	CauseRegression     Cause = "regression"     // a comparison regressed, or only the head fails
	CauseFailed         Cause = "failed"         // the session failed: no target works, the base was given up, a timeout
	CauseLimit          Cause = "limit"          // a limit is exceeded
	CauseInfrastructure Cause = "infrastructure" // a base fails too
	CauseInterrupted    Cause = "interrupted"    // a signal ended the session
	CauseUnjudged       Cause = "unjudged"       // missing or invalid, in a gate that fails for it
	CauseUndecided      Cause = "undecided"      // inconclusive, in a gate that fails for it
	CauseTolerated      Cause = "tolerated"      // regression, missing or invalid, in a gate that does not fail for it
	CauseInconclusive   Cause = "inconclusive"   // inconclusive, in a gate that does not fail for it
	CauseUngated        Cause = "ungated"        // measured, without gates
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

// Outcome holds everything that follows from the cause of a document.
type Outcome struct {
	Cause Cause
	// Exit is the exit status for the document.
	Exit int
	// Check is the conclusion of the check run: a failure blocks merging; neutral does not, and is
	// not a success.
	Check Check
	// State is the state of the commit status: only a pass is a success.
	State CommitState
	// Headline is the verdict in words, with [Repeats] as a placeholder for the number of finished
	// repeats; "" if the headline counts the gates by verdict.
	Headline string
	// Next is what to do about it, in sentences; "" for nothing.
	Next string
	// Accept is set if a person can accept the result, because it blocks merging and was measured.
	Accept bool

	applies func(facts) bool
}

// Repeats is a placeholder in a headline for the number of finished repeats.
const Repeats = "{repeats}"

// outcomes is the only table of outcomes. The first matching row decides, so that a regression
// remains one even if other parts failed.
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
		Next:     "Repair the base or the machine and measure again. There is nothing to accept.",
		applies:  func(f facts) bool { return f.infrastructure },
	},
	{
		Cause: CauseInterrupted, Exit: ExitUndecided, Check: CheckCancelled, State: StateError,
		Headline: "interrupted after " + Repeats + ", no verdict",
		Next:     "The same command with --resume goes on with it.",
		applies:  func(f facts) bool { return f.status == StatusInterrupted },
	},
	{
		Cause: CauseUnjudged, Exit: ExitUndecided, Check: CheckFailure, State: StateFailure, Accept: true,
		Next:    "Mend what the reasons name and measure again.",
		applies: func(f facts) bool { return f.unjudged },
	},
	{
		Cause: CauseUndecided, Exit: ExitUndecided, Check: CheckFailure, State: StateFailure, Accept: true,
		Next:    "Merging is blocked, since the file fails for what is not decided.",
		applies: func(f facts) bool { return f.undecided },
	},
	{
		Cause: CauseTolerated, Exit: ExitOK, Check: CheckNeutral, State: StatePending,
		Next:    "The file does not fail for this, so it does not block merging.",
		applies: func(f facts) bool { return f.tolerated },
	},
	{
		Cause: CauseInconclusive, Exit: ExitOK, Check: CheckNeutral, State: StatePending,
		Next:    "Merging is not blocked.",
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

// Outcome returns the outcome of the document.
func (d *Document) Outcome() Outcome {
	f := factsOf(d)
	return outcomes[slices.IndexFunc(outcomes, func(o Outcome) bool { return o.applies(f) })]
}

// facts holds the conditions that the rows of the table check.
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
		f.add(g, g.Verdict, kind) // a gate has only limits as decisions or none
	}
	return f
}

// add records a verdict of a gate.
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
