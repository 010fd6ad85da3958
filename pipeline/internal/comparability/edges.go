package comparability

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// Latencies are measured from the first request after the warm-up to the last token of each answer. A head can move cost
// to where nothing is measured: into its first requests, or behind the last token. A client that reads to the end of
// a response waits for that, too, and in a closed loop such a head gets less load.
const (
	// leastTail is the smallest difference of tails that is reported, in seconds and as a share of the mean E2EL.
	leastTail, tailShare = 0.001, 0.02
	// otherTail is the smallest reported ratio of tails. otherWarmup is the smallest reported ratio of the warm-up's times,
	// both by itself and divided by the ratio of the measured times.
	otherTail, otherWarmup = 2, 1.5
	// leastPairs is the smallest number of pairs of runs that must all show a difference of times.
	leastPairs = 3
	// otherGathered is the smallest reported difference in the share of events that come together; a busy machine moves the
	// shares of both sides. otherConnections is the smallest reported difference in the share of answers after which the
	// server closes the connection.
	otherGathered, otherConnections = 0.25, 0.25
	// meanE2EL is the metric that the times are compared with.
	meanE2EL = "e2el.mean"
)

// warmupOf describes the requests of a warm-up, nil without one.
func warmupOf(requests record.List) *result.Warmup {
	out := &result.Warmup{Sent: requests.Len()}
	sum := 0.0
	for _, r := range requests.All() {
		switch {
		case r.Failure != "":
			out.Failed++
		case len(r.Events) > 0:
			sum += float64(r.Events[len(r.Events)-1].At-r.Sent) / 1e9
		}
	}
	if out.Sent == 0 {
		return nil
	}
	out.Mean = sum / float64(max(out.Sent-out.Failed, 1))
	return out
}

// lateEnds reports if the responses of one side go on longer after their last token.
func lateEnds(pairs []runPair) (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.LateEnds, Repeat: pairs[0].Repeat, Shown: true}
	tail := func(r result.Run) float64 { return r.Requests.Tail }
	d.Base, d.Head = means(pairs, tail)
	base, head := means(pairs, func(r result.Run) float64 { return r.Metrics[meanE2EL] })
	unit := humanize.ScaleFor("s", d.Base, d.Head)
	d.Text = fmt.Sprintf("time from the last token to the end of the response: base %s, head %s; E2EL ends with the last token",
		unit.Value(d.Base), unit.Value(d.Head))
	difference := math.Abs(d.Head - d.Base)
	return d, difference >= max(leastTail, tailShare*(base+head)/2) && max(d.Base, d.Head) >= otherTail*min(d.Base, d.Head) &&
		agree(pairs, rise(tail))
}

// gathered reports if one side sends more of its events together. A reader sees them at once, though each token takes as
// long as before in the mean.
func gathered(pairs []runPair) (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.GatheredEvents, Repeat: pairs[0].Repeat, Shown: true}
	share := func(r result.Run) float64 { return float64(r.Requests.Gathered) / float64(max(r.Requests.Events, 1)) }
	d.Base, d.Head = means(pairs, share)
	d.Text = fmt.Sprintf("stream events that arrived together with an earlier one: base %.0f %%, head %.0f %%; a reader waits for them, "+
		"which the mean time per token does not show", 100*d.Base, 100*d.Head)
	return d, math.Abs(d.Head-d.Base) > otherGathered && agree(pairs, rise(share))
}

// connections reports if one side closes more of its connections after an answer. Under a load with a rate, others are
// opened before a request is due, so that no latency has the time that they take.
func connections(pairs []runPair) (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherConnections, Repeat: pairs[0].Repeat, Shown: true}
	perRequest := func(r result.Run) float64 {
		closed, _ := r.Audit["closed"].(float64)
		sent := r.Sent
		if w := r.Requests.Warmup; w != nil {
			sent += w.Sent
		}
		return closed / float64(max(sent, 1))
	}
	d.Base, d.Head = means(pairs, perRequest)
	d.Text = fmt.Sprintf("answers after which the server closed the connection: base %.0f %%, head %.0f %%; a load with a rate opens the "+
		"next one before a request is due, so that no latency has the time that it takes", 100*d.Base, 100*d.Head)
	return d, math.Abs(d.Head-d.Base) > otherConnections && agree(pairs, rise(perRequest))
}

// warmupFailures reports if more requests of the warm-up fail on one side.
func warmupFailures(pairs []runPair) (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherWarmup, Repeat: pairs[0].Repeat, Shown: true}
	var failed, sent [2]float64
	for _, p := range pairs {
		for i, r := range p.runs {
			if w := r.Requests.Warmup; w != nil {
				failed[i], sent[i] = failed[i]+float64(w.Failed), sent[i]+float64(w.Sent)
			}
		}
	}
	if min(sent[0], sent[1]) < leastRequests {
		return d, false
	}
	d.Base, d.Head = failed[0]/sent[0], failed[1]/sent[1]
	d.Text = fmt.Sprintf("requests of the warm-up that failed: base %.0f of %.0f, head %.0f of %.0f; they are not measured",
		failed[0], sent[0], failed[1], sent[1])
	return d, math.Abs(d.Head-d.Base) > otherShare
}

// warmupTimes reports if the requests of the warm-up take longer on one side than its measured ones explain.
func warmupTimes(pairs []runPair) (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherWarmup, Repeat: pairs[0].Repeat, Shown: true}
	ratio := func(p runPair) float64 {
		b, h := p.runs[0], p.runs[1]
		if b.Requests.Warmup == nil || h.Requests.Warmup == nil {
			return 0
		}
		v := math.Log(h.Requests.Warmup.Mean / b.Requests.Warmup.Mean)
		beyond, least := v-math.Log(h.Metrics[meanE2EL]/b.Metrics[meanE2EL]), math.Log(otherWarmup)
		if math.IsInf(v, 0) || math.IsInf(beyond, 0) || !(min(v, beyond) >= least || max(v, beyond) <= -least) {
			return 0
		}
		return beyond
	}
	if !agree(pairs, ratio) {
		return d, false
	}
	d.Base, d.Head = means(pairs, func(r result.Run) float64 { return r.Requests.Warmup.Mean })
	unit := humanize.ScaleFor("s", d.Base, d.Head)
	d.Text = fmt.Sprintf("mean E2EL of the requests of the warm-up: base %s, head %s; the first requests after a start are not measured",
		unit.Value(d.Base), unit.Value(d.Head))
	return d, true
}

// reasoning reports if another share of the answers is reasoning on one side. The time to first token ends with the first
// token of either, and a reader waits for the answer.
func reasoning(pairs []runPair) (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherReasoning, Repeat: pairs[0].Repeat, Shown: true}
	share := func(r result.Run) float64 {
		return float64(r.Requests.Reasoning) / float64(max(r.Requests.Characters, 1))
	}
	d.Base, d.Head = means(pairs, share)
	d.Text = fmt.Sprintf("characters of the answers that are reasoning: base %.0f %%, head %.0f %%; the time to first token ends with the "+
		"first of either", 100*d.Base, 100*d.Head)
	return d, math.Abs(d.Head-d.Base) > otherShare && agree(pairs, rise(share))
}

// ends reports the finish reason that differs most between the sides, such as a call of a tool or a filter. It leaves out
// "length", which has its own comparison, and "stop", whose share follows from the others.
func ends(pairs []runPair) (d result.RequestDifference, differs bool) {
	d = result.RequestDifference{What: result.OtherFinish, Repeat: pairs[0].Repeat, Shown: true}
	reasons := map[string]int{}
	for _, p := range pairs {
		maps.Copy(reasons, p.runs[0].Requests.Finish)
		maps.Copy(reasons, p.runs[1].Requests.Finish)
	}
	delete(reasons, "stop")
	delete(reasons, "length")
	largest := otherShare
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		share := func(r result.Run) float64 {
			all := 0
			for _, n := range r.Requests.Finish {
				all += n
			}
			return float64(r.Requests.Finish[reason]) / float64(max(all, 1))
		}
		base, head := means(pairs, share)
		if math.Abs(head-base) <= largest || !agree(pairs, rise(share)) {
			continue
		}
		largest, differs = math.Abs(head-base), true
		d.Base, d.Head = base, head
		d.Text = fmt.Sprintf("answers whose finish reason is %.40q: base %.0f %%, head %.0f %%", reason, 100*base, 100*head)
	}
	return d, differs
}

// means returns the means of a value over the runs of each side.
func means(pairs []runPair, of func(result.Run) float64) (base, head float64) {
	n := float64(len(pairs))
	for _, p := range pairs {
		base, head = base+of(p.runs[0])/n, head+of(p.runs[1])/n
	}
	return base, head
}

// rise returns the difference of a value between the runs of a pair, head minus base.
func rise(of func(result.Run) float64) func(runPair) float64 {
	return func(p runPair) float64 { return of(p.runs[1]) - of(p.runs[0]) }
}

// agree reports whether a difference has the same sign in all pairs, and there are enough of them.
func agree(pairs []runPair, of func(runPair) float64) bool {
	up, down := 0, 0
	for _, p := range pairs {
		switch v := of(p); {
		case v > 0:
			up++
		case v < 0:
			down++
		}
	}
	return max(up, down) == len(pairs) && len(pairs) >= leastPairs
}
