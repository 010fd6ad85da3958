package record

import "github.com/servegate/pipeline/steps"

// good reports whether a successful request is within the limits. TTFT and E2EL count from the send. TPOT is 0
// with one token, as in `vllm bench serve` 0.33.
func good(r *Request, limits steps.Goodput) bool {
	first, last := r.First().At, r.Events[len(r.Events)-1].At
	tpot := 0.0
	if n := r.following(); n > 0 {
		tpot = float64(last-first) / float64(n)
	}
	return within(float64(first-r.Sent), int64(limits.TTFT)) && within(tpot, int64(limits.TPOT)) &&
		within(float64(last-r.Sent), int64(limits.E2EL))
}

// within reports whether nanoseconds are within a limit; 0 means no limit.
func within(ns float64, limit int64) bool { return limit == 0 || ns <= float64(limit) }

// Good returns the number of requests that succeeded within the limits of the run.
func Good(run Run) int {
	n := 0
	for _, r := range run.Requests.All() {
		if r.Failure == "" && len(r.Events) > 0 && r.Sent >= 0 && good(r, run.Goodput) {
			n++
		}
	}
	return n
}

// reduceGoodput adds the good requests per second (vLLM's goodput) and their share of all counted requests
// (SGLang's SLO attainment). Unlike a latency, both exist if all requests failed.
func reduceGoodput(m map[string]float64, run Run) {
	t := Count(run)
	if run.Goodput == (steps.Goodput{}) || t.Requests == 0 {
		return
	}
	n := float64(Good(run))
	m["goodput.share"] = n / float64(t.Requests)
	if run.Duration > 0 {
		m["goodput.rate"] = n / seconds(run.Duration)
	}
}
