package gates

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// twice is the number of runs in which requests must fail to count as the side's: one can be
// chance.
const twice = 2

// count turns the runs of both sides into counts and uncorrected p values.
func count(s Success, alpha float64) *entry {
	rate, _ := metric.Lookup("success.rate")
	base, head := tally(s.Base), tally(s.Head)
	e := &entry{
		Decision: Decision{
			ID: s.ID, Gate: s.Gate, Metric: rate, N: len(fractions(s)),
			Requests: &Requests{Base: base, Head: head},
		},
		Outcome:  untested(alpha),
		share:    s.Alpha,
		inFamily: s.CanFail,
	}
	if base.Sent == 0 || head.Sent == 0 {
		return e
	}
	e.described, e.tested = true, true
	e.Base, e.Head = 1-base.fraction(), 1-head.fraction()
	e.D = head.fraction() - base.fraction()
	e.Change, e.Worse = -e.D, e.D > 0
	e.fisher = fisher(head, base)
	e.P, e.PBetter = e.evidence(s)
	return e
}

// evidence returns the one-sided p values that the head fails more often and less often than the
// base. The run is the unit: a cause that hits a run hits many of its requests, which Fisher's test
// takes as independent. So the larger p value counts, of the requests and of the runs.
func (e *entry) evidence(s Success) (more, fewer float64) {
	more, fewer = 1, 1
	t, b, h, err := s.overRuns()
	if err != nil {
		return more, fewer // one run is no evidence
	}
	e.SE, e.DF, e.T, e.Exact = t.SE, t.DF, t.T, t.Exact
	if e.Requests.Head.WithFailures >= twice {
		more = max(e.fisher, t.Greater, runFloor(h, b))
	}
	if base := e.Requests.Base; base.WithFailures >= twice {
		fewer = max(fisher(base, e.Requests.Head), t.Less, runFloor(b, h))
	}
	return more, fewer
}

// overRuns returns the t-test of the failed fractions of runs: of their differences by repeat, or
// of both sides if the runs are unpaired. It also returns the numbers of runs of base and head
// used.
func (s Success) overRuns() (t Statistic, base, head int, err error) {
	if s.Unpaired {
		x := Sample{Base: failedFractions(s.Base), Head: failedFractions(s.Head)}
		t, err = welch(x, Settings{Alpha: 0.5})
		return t, len(x.Base), len(x.Head), err
	}
	d := fractions(s)
	t, err = PairedT(d)
	return t, len(d), len(d), err
}

// runFloor returns the smallest p value that runs can have if each of the head's fails and none of
// the base's, or the reverse. It is the probability of that outcome at the failure rate that makes
// it most likely: 4⁻ⁿ for n runs of each side.
func runFloor(head, base int) float64 {
	n := float64(head + base)
	return math.Pow(float64(head)/n, float64(head)) * math.Pow(float64(base)/n, float64(base))
}

// fisher returns the p value of Fisher's exact test of the requests of side a against those of b.
func fisher(a, b Failures) float64 {
	p, err := FisherExact(a.Failed, a.Sent, b.Failed, b.Sent)
	if err != nil {
		return 1 // check has refused impossible counts
	}
	return p
}

// tally counts the failures of one side.
func tally(runs []Run) Failures {
	f := Failures{Runs: len(runs)}
	for _, r := range runs {
		switch {
		case r.ServerFailed:
			f.ServerFailed++
			continue
		case r.Failed > 0:
			f.WithFailures++
		}
		f.Sent += r.Sent
		f.Failed += r.Failed
	}
	return f
}

// fraction returns the fraction of requests that failed.
func (f Failures) fraction() float64 { return float64(f.Failed) / float64(f.Sent) }

// failedFractions returns the failed fractions of the runs whose server did not fail.
func failedFractions(runs []Run) []float64 {
	var out []float64
	for _, r := range runs {
		if !r.ServerFailed && r.Sent > 0 {
			out = append(out, float64(r.Failed)/float64(r.Sent))
		}
	}
	return out
}

// fractions returns, for each repeat that both sides have, the head's failed fraction minus the
// base's, by repeat.
func fractions(s Success) []float64 {
	base := map[int]Run{}
	for _, r := range s.Base {
		if !r.ServerFailed {
			base[r.Repeat] = r
		}
	}
	var d []float64
	for _, h := range slices.SortedFunc(slices.Values(s.Head), func(a, b Run) int { return cmp.Compare(a.Repeat, b.Repeat) }) {
		b, ok := base[h.Repeat]
		if !ok || h.ServerFailed || b.Sent == 0 || h.Sent == 0 {
			continue
		}
		d = append(d, float64(h.Failed)/float64(h.Sent)-float64(b.Failed)/float64(b.Sent))
	}
	return d
}

// decide gives the verdict on success rates from servers and requests. If they disagree, the one
// against the head wins.
func (s Success) decide(e *entry) {
	e.Requests.HeadSuspect = e.suspect()
	v, reason := e.servers()
	if v == Regression || v == Invalid {
		e.settle(v, reason)
		e.Infrastructure = v == Invalid
		return
	}
	requests(e)
	switch {
	case v == "", e.Verdict == Regression:
	case v == Improvement && e.Verdict == Inconclusive: // the head's requests are in doubt
	case e.Requests.Base.ServerFailed > 0 && e.Verdict == Improvement: // both agree
	default:
		e.settle(v, reason)
	}
}

// suspect reports whether the head fails too often to trust its other values.
func (e *entry) suspect() bool {
	base, head := e.Requests.Base, e.Requests.Head
	return head.ServerFailed >= twice && head.ServerFailed > base.ServerFailed ||
		e.tested && e.Worse && head.WithFailures >= twice && e.fisher <= e.Level
}

// requests decides on failed requests. There is no margin: a head that fails more often than a base
// that never fails is at best inconclusive.
func requests(e *entry) {
	base, head := e.Requests.Base, e.Requests.Head
	counts := fmt.Sprintf("%d of %d requests of the head failed, %d of %d of the base", head.Failed, head.Sent, base.Failed, base.Sent)
	switch {
	case !e.tested:
		e.settle(Missing, "no requests were counted on both sides, so lost ones would go unseen")
	case e.significantlyWorse():
		e.settle(Regression, counts+": significantly more after Holm, run by run")
	case e.significantlyBetter():
		e.settle(Improvement, counts+": significantly fewer after Holm, run by run")
	case !e.Worse:
		e.settle(Pass, counts)
	case base.Failed > 0 && e.fisher > e.Level:
		e.settle(Pass, counts+": both sides fail, the head not significantly more often")
		e.Warnings = append(e.Warnings, "both sides have failed requests, which are missing from the latencies")
	case head.WithFailures < twice:
		e.settle(Inconclusive, counts+", in one run only")
	default:
		e.settle(Inconclusive, fmt.Sprintf("%s, in %d of %d runs of the head and %d of %d of the base: not significant after Holm", counts,
			head.WithFailures, head.Runs-head.ServerFailed, base.WithFailures, base.Runs-base.ServerFailed))
	}
}

// refuseFewRuns makes success rates invalid if every run of the head lost requests, no run of the
// base did, and the runs are too few for any outcome to be significant. Equal sides do that in at
// most 4⁻ⁿ of sessions of n repeats, and no repeat is left to decide. The head must not pass in
// spite of its losses.
func refuseFewRuns(success []Decision) {
	for i := range success {
		d := &success[i]
		if d.Verdict != Inconclusive || d.Requests == nil {
			continue
		}
		base, head := d.Requests.Base, d.Requests.Head
		runs, others := head.Runs-head.ServerFailed, base.Runs-base.ServerFailed
		if d.Requests.HeadSuspect && head.WithFailures == runs && runs >= twice && base.WithFailures == 0 && others > 0 {
			d.Verdict, d.Need = Invalid, nil
			d.Reason = fmt.Sprintf("%d of %d requests of the head failed, in each of its %d runs, and none of %d of the base: "+
				"too few repeats to call it a regression after Holm, so plan at least %d", head.Failed, head.Sent, runs, base.Sent,
				max(runs+1, FailingRuns((1-LaunchShare)*d.Level/float64(max(1, d.GroupSize)))))
		}
	}
}

// FailingRuns returns the least number of runs of each side that can be significant at a level, if every run of
// the head and none of the base has lost requests; see runFloor.
func FailingRuns(level float64) int {
	return int(math.Ceil(-math.Log(level) / math.Log(4)))
}
