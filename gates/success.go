package gates

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
)

// twice is how often a failure must show to count as the head's: once is an accident.
const twice = 2

// count turns the runs of both sides into counts and uncorrected p values.
func count(s Success, alpha float64) *entry {
	rate, _ := metric.Lookup("success.rate")
	base, head := tally(s.Base, alpha), tally(s.Head, alpha)
	e := &entry{
		Decision: Decision{
			ID: s.ID, Gate: s.Gate, Metric: rate, N: len(fractions(s)), Confidence: 1 - 2*alpha,
			P: 1, PHolm: 1, PBetter: 1, PBetterHolm: 1,
			Requests: &Requests{Base: base, Head: head},
		},
		share:    s.Alpha,
		inFamily: s.CanFail,
	}
	if base.Sent == 0 || head.Sent == 0 {
		return e
	}
	e.Tested = true
	e.Base, e.Head = 1-base.fraction(), 1-head.fraction()
	e.D = head.fraction() - base.fraction()
	e.Change, e.Worse = -e.D, e.D > 0
	e.fisher = fisher(head, base)
	e.P, e.PBetter = evidence(head, base), evidence(base, head)
	if base.Failed > 0 && head.Failed > 0 {
		e.replicated(s)
	}
	return e
}

// replicated demands, where both sides fail, that the failures differ from run to run
// as well as in the pool: failures come in clusters, which Fisher's test takes for
// independent.
func (e *entry) replicated(s Success) {
	test, err := PairedT(fractions(s))
	if err != nil {
		e.P, e.PBetter = 1, 1 // one pair replicates nothing
		return
	}
	e.SE, e.DF, e.T, e.Exact = test.SE, test.DF, test.T, test.Exact
	e.P, e.PBetter = max(e.P, test.Greater), max(e.PBetter, test.Less)
}

// evidence is the one-sided p value that side a fails more often than b. Failures in a
// single run are no evidence: whatever befell that run befell all its requests.
func evidence(a, b Failures) float64 {
	if a.WithFailures < twice {
		return 1
	}
	return fisher(a, b)
}

// fisher is Fisher's exact test of the requests of side a against those of b.
func fisher(a, b Failures) float64 {
	p, err := FisherExact(a.Failed, a.Sent, b.Failed, b.Sent)
	if err != nil {
		return 1 // check has refused counts that are no proportions
	}
	return p
}

// tally counts one side.
func tally(runs []Run, alpha float64) Failures {
	f := Failures{Runs: len(runs), Upper: 1}
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
	if f.Sent > 0 {
		if lower, upper, err := ClopperPearson(f.Failed, f.Sent, 2*alpha); err == nil {
			f.Lower, f.Upper = lower, upper
		}
	}
	return f
}

// fraction of the requests that failed.
func (f Failures) fraction() float64 { return float64(f.Failed) / float64(f.Sent) }

// fractions are head − base of the failed fractions of the repeats that both sides have,
// by repeat.
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

// decide gives the verdict on success rates from servers and requests. Where the two
// disagree, what speaks against the head wins.
func (s Success) decide(e *entry) {
	v, reason := servers(*e.Requests)
	if v == Regression || v == Invalid {
		e.settle(v, reason)
		e.Infrastructure = v == Invalid
		return
	}
	requests(e)
	switch {
	case v == "", e.Verdict == Regression:
	case v == Improvement && e.Verdict == Inconclusive: // the head's requests are in doubt
	case e.Requests.Base.ServerFailed > 0 && e.Verdict == Improvement: // both say so
	default:
		e.settle(v, reason)
	}
}

// servers decides on launches that failed and servers that crashed; "" means that none
// did.
func servers(r Requests) (Verdict, string) {
	base, head := r.Base.ServerFailed, r.Head.ServerFailed
	switch {
	case base > 0 && head > 0:
		return Invalid, fmt.Sprintf("base fails too: the server failed in %d of %d runs of the base and %d of %d of the head", base, r.Base.Runs, head, r.Head.Runs)
	case head >= twice:
		return Regression, fmt.Sprintf("the head's server failed in %d of %d runs, the base's in none", head, r.Head.Runs)
	case base >= twice:
		return Improvement, fmt.Sprintf("the base's server failed in %d of %d runs, the head's in none", base, r.Base.Runs)
	case head > 0:
		return Inconclusive, fmt.Sprintf("the head's server failed in 1 of %d runs; a second time would be a regression", r.Head.Runs)
	case base > 0:
		return Inconclusive, fmt.Sprintf("the base's server failed in 1 of %d runs, the head's in none", r.Base.Runs)
	}
	return "", ""
}

// requests decides on requests that failed. There is no margin: a head that fails more
// often than a base that never does is at best inconclusive.
func requests(e *entry) {
	base, head := e.Requests.Base, e.Requests.Head
	counts := fmt.Sprintf("%d of %d requests of the head failed, %d of %d of the base", head.Failed, head.Sent, base.Failed, base.Sent)
	switch {
	case !e.Tested:
		e.settle(Missing, "no requests were sent on both sides")
	case e.significantlyWorse():
		e.settle(Regression, counts+": significantly more after Holm, in more than one run")
	case e.significantlyBetter():
		e.settle(Improvement, counts+": significantly fewer after Holm, in more than one run")
	case !e.Worse:
		e.settle(Pass, counts)
	case base.Failed > 0 && e.fisher > e.Level:
		e.settle(Pass, counts+": both sides fail, the head not significantly more often")
		e.Warnings = append(e.Warnings, "both sides have failed requests, which are missing from the latencies")
	case head.WithFailures < twice:
		e.settle(Inconclusive, counts+", in one run only")
	default:
		e.settle(Inconclusive, counts+": not significant after Holm")
	}
}
