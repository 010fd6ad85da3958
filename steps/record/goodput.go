package record

import "github.com/servegate/pipeline/steps"

// good reports whether a successful request is within the limits: TTFT and E2EL from the
// send, and TPOT, which as in `vllm bench serve` 0.33 is 0 with one token.
func good(r *Request, limits steps.Goodput) bool {
	first, last := r.First().At, r.Events[len(r.Events)-1].At
	tpot := 0.0
	if n := r.following(); n > 0 {
		tpot = float64(last-first) / float64(n)
	}
	return within(float64(first-r.Sent), int64(limits.TTFT)) && within(tpot, int64(limits.TPOT)) &&
		within(float64(last-r.Sent), int64(limits.E2EL))
}

// within reports whether nanoseconds are within a limit; 0 is none.
func within(ns float64, limit int64) bool { return limit == 0 || ns <= float64(limit) }

// Good is the number of requests that succeeded within the limits of the run.
func Good(run Run) int {
	n := 0
	for i := range run.Requests {
		if r := &run.Requests[i]; r.Failure == "" && len(r.Events) > 0 && r.Sent >= 0 && good(r, run.Goodput) {
			n++
		}
	}
	return n
}

// reduceGoodput adds the good requests per second (vLLM's goodput) and their share of all
// that count (SGLang's SLO attainment). Unlike a latency they are there when all failed.
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
