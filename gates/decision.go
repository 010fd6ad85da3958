package gates

import "github.com/servegate/pipeline/gates/metric"

// Verdict is the outcome of a comparison.
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

// Decision is the verdict on one comparison and the arithmetic behind it. Parts that were not
// computed are nil. All numbers are finite.
type Decision struct {
	ID, Gate string
	Metric   metric.Metric
	Verdict  Verdict
	// Reason for the verdict in one sentence, without a full stop.
	Reason   string
	Warnings []string
	// Refuted is set if an improvement was expected and the interval excludes it.
	Refuted bool
	// Infrastructure is set if the base fails too, so that the verdict does not concern the change.
	Infrastructure bool

	// N is the number of pairs used; for unpaired values the number of the smaller side.
	N int
	// Level is the one-sided error rate of the Holm group, or of one look of a sequence.
	// GroupSize is the number of members of the group.
	Level     float64
	GroupSize int

	// Difference of the sides, nil if one of them has no value.
	Difference *Difference
	// Outcome of the test, nil if no test was possible.
	Outcome *Outcome
	// Look whose data decided, nil without a sequence.
	Look *Look
	// Need estimates the sample size that would decide an inconclusive comparison; nil if unknown.
	Need *Need
	// Requests holds the counts of a success decision; nil for any other.
	Requests *Requests
}

// Difference is the difference of the two sides of a comparison.
type Difference struct {
	// Base and Head are geometric means over the pairs on the log scale, arithmetic means
	// otherwise. For a success decision they are the pooled success rates.
	Base, Head float64
	// Change is Head/Base − 1 on the log scale, Head − Base otherwise.
	Change float64
	// Worse is true if the estimate is on the worse side, by any amount.
	Worse bool
}

// Outcome is the result of a test.
type Outcome struct {
	// D is the mean difference of the pairs on the scale of the test, worse positive. SE is its
	// standard error, DF the degrees of freedom, and T = D/SE. If Exact is set, all pairs have the
	// same difference: SE and T are 0 and D has no error. For tests by ranks and sign flips, SE, DF
	// and T only describe; for ranks D is the Hodges–Lehmann shift.
	D, SE, DF, T float64
	Exact        bool
	// P is the one-sided p value against d ≤ 0 (not worse), PHolm the same adjusted over the Holm
	// group. The comparison is significantly worse if PHolm ≤ Level.
	P, PHolm float64
	// PBetter and PBetterHolm are the mirror image, against d ≥ 0. If an improvement is expected,
	// they are against d ≥ −m, and PBetterHolm is also adjusted for repeated attempts.
	PBetter, PBetterHolm float64
	// Confidence with which Interval covers Change (0.90 for α = 0.05). Each bound has one-sided
	// confidence 1 − α.
	Confidence float64
	// Interval of Change, from which Pass follows. It is nil for a success decision, which has
	// Requests.
	Interval *Interval
	// Moderated is set if the variance was moderated.
	Moderated *Moderation
	// Known is the known spread that was used. Contradicted is set if the pairs spread by more than
	// it allows.
	Known        *Known
	Contradicted bool
}

// Interval is a confidence interval of a change.
type Interval struct {
	Lower, Upper float64
	// Unbounded is true if a test by ranks or sign flips has too few values for a bound at this
	// confidence. The bound is then the end of the scale.
	Unbounded bool
	// MDE is the smallest change for the worse, on the scale of the margin, that the test detects
	// with 80 % power at this n and spread, however the other members of the group come out. A
	// change below the margin is still not a regression.
	MDE float64
}

// Look is the look of a sequence that decided a comparison.
type Look struct {
	// Repeats that were measured at the look.
	Repeats int
	// Later describes all pairs if more were measured after the look.
	Later *Estimate
}

// Estimate describes a comparison without deciding it.
type Estimate struct {
	N int
	Difference
	Interval *Interval // nil if no test was possible
}

// Need holds the sample size that decides with a probability of 80 %, given the data so far.
type Need struct {
	// N is the total number of repeats, or of sessions of the head for a stored baseline.
	N        int
	Sessions bool
}

// Requests holds the counts behind a success decision.
type Requests struct {
	Base, Head Failures
	// Launches of both sides, over all cells that they serve.
	Launches Launches
	// HeadSuspect is set if the head fails more often than the base in more than one run, by
	// Fisher's test of the requests or by its servers alone. That is too little for a regression,
	// but too much to trust its speed.
	HeadSuspect bool
}

// Failures counts what failed on one side, over all its runs.
type Failures struct {
	// Runs counts all runs, ServerFailed those whose server failed, and WithFailures those of the
	// others in which a request failed.
	Runs, ServerFailed, WithFailures int
	// Sent and Failed count the requests of runs whose server did not fail.
	Sent, Failed int
}

// Judgement holds the decisions on a family.
type Judgement struct {
	// Comparisons and Success are in the order of the family.
	Comparisons []Decision
	Success     []Decision
	// Groups are the Holm groups: first the common group, if it has members, then those of the
	// gates with an alpha of their own, in the order of the family.
	Groups []Group
}

// Group is a set of comparisons that share one error rate by Holm's procedure.
type Group struct {
	// Gate is empty for the common group.
	Gate string
	// Alpha is the one-sided error rate of the group. Level is its part for this look; without a
	// sequence both are equal.
	Alpha, Level float64
	// IDs of the members.
	IDs []string
}
