package gates

import "github.com/servegate/pipeline/gates/metric"

// Verdict is what was decided on a comparison.
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "pass"
	Improvement  Verdict = "improvement"
	Regression   Verdict = "regression"
	Inconclusive Verdict = "inconclusive"
	Missing      Verdict = "missing"
	Invalid      Verdict = "invalid"
)

// Decision on one comparison, with the arithmetic behind it. What did not come about is nil.
// All numbers are finite.
type Decision struct {
	ID, Gate string
	Metric   metric.Metric
	Verdict  Verdict
	// Reason for the verdict in one sentence, without a full stop.
	Reason   string
	Warnings []string
	// Refuted is set where an improvement was expected and the interval excludes it.
	Refuted bool
	// Infrastructure is set where the base fails too, so that the verdict does not concern
	// the change.
	Infrastructure bool

	// N is the number of pairs used; of unpaired values, the smaller side's number.
	N int
	// Level is the one-sided error rate of the Holm group, or of one look of it in a
	// sequence; GroupSize are the group's members.
	Level     float64
	GroupSize int

	// Difference of the sides, nil where one of them has no value.
	Difference *Difference
	// Outcome of the test, nil where none was possible.
	Outcome *Outcome
	// Look at whose data the decision was made, nil without a sequence.
	Look *Look
	// Need is how much would decide an inconclusive comparison, nil where that is not known.
	Need *Need
	// Requests holds the counts of a success decision, nil of any other.
	Requests *Requests
}

// Difference of the sides of a comparison.
type Difference struct {
	// Base and Head are the geometric means over the pairs on the log scale, arithmetic
	// means otherwise; for a success decision the pooled success rates.
	Base, Head float64
	// Change is Head/Base − 1 on the log scale, Head − Base otherwise.
	Change float64
	// Worse is true where the estimate is on the worse side, however little.
	Worse bool
}

// Outcome of a test.
type Outcome struct {
	// D is the mean of the pairs' differences on the scale of the test, worse positive,
	// SE its standard error, DF the degrees of freedom and T = D/SE. With Exact the
	// pairs do not differ from each other, SE and T are 0 and D stands without error.
	// For tests by ranks and sign flips SE, DF and T describe and decide nothing; D is
	// the Hodges–Lehmann shift for ranks.
	D, SE, DF, T float64
	Exact        bool
	// P is the one-sided p value against d ≤ 0 (not worse), PHolm the same adjusted over
	// the Holm group; the comparison is significantly worse if PHolm ≤ Level.
	P, PHolm float64
	// PBetter and PBetterHolm are the mirror image, against d ≥ 0; where an improvement is
	// expected, against d ≥ −m, and PBetterHolm is what attempts have left of it.
	PBetter, PBetterHolm float64
	// Confidence with which Interval covers Change (0.90 for α = 0.05); each bound has
	// one-sided confidence 1 − α.
	Confidence float64
	// Interval of Change, which Pass is read off; nil for a success decision, which has
	// Requests.
	Interval *Interval
	// Moderated is set where the variance was moderated.
	Moderated *Moderation
	// Known is the known spread that had a part in it, and Contradicted is set where the pairs
	// spread by more than it allows.
	Known        *Known
	Contradicted bool
}

// Interval of a change.
type Interval struct {
	Lower, Upper float64
	// Unbounded is true where a test by ranks or sign flips has too few values for a
	// bound at this confidence. The bound is then the end of the scale.
	Unbounded bool
	// MDE is the smallest change for the worse, on the scale of the margin, whose test
	// rejects with 80 % power at this n and spread, however the other members of the
	// group come out. A change below the margin is still no regression.
	MDE float64
}

// Look of a sequence that decided a comparison.
type Look struct {
	// Repeats that it had.
	Repeats int
	// Later describes all pairs where more were measured after it.
	Later *Estimate
}

// Estimate describes a comparison without deciding anything.
type Estimate struct {
	N int
	Difference
	Interval *Interval // nil where no test was possible
}

// Need is how much decides, with a chance of 80 % given what there is.
type Need struct {
	// N of repeats in all, or of sessions of the head for a stored baseline.
	N        int
	Sessions bool
}

// Requests are the counts behind a success decision.
type Requests struct {
	Base, Head Failures
	// Launches of the two sides, in all cells that they serve.
	Launches Launches
	// HeadSuspect is set where the head fails more often than the base in more than one
	// run, by Fisher's test of the requests or by its servers alone. That is not enough
	// to call it a regression, but too much to believe that it is as fast as it seems.
	HeadSuspect bool
}

// Failures of one side, over all its runs.
type Failures struct {
	// Runs in all, those whose server failed, and those of the others in which at
	// least one request failed.
	Runs, ServerFailed, WithFailures int
	// Sent and Failed requests of the runs whose server did not fail.
	Sent, Failed int
	// Lower and Upper are the Clopper–Pearson bounds of the failed fraction, each with
	// one-sided confidence 1 − α.
	Lower, Upper float64
}

// Judgement is what was decided on a family.
type Judgement struct {
	// Comparisons and Success in the order of the family's.
	Comparisons []Decision
	Success     []Decision
	// Groups are the Holm groups: first the common one, if it has members, then those
	// of the gates with a share of their own, in the order of the family.
	Groups []Group
}

// Group is a set of comparisons that share one error rate by Holm's procedure.
type Group struct {
	// Gate is empty for the common group.
	Gate string
	// Alpha is the one-sided error rate of the group, Level what is left of it for this
	// look: the same without a sequence.
	Alpha, Level float64
	// IDs of the members.
	IDs []string
}
