package judge

import (
	"fmt"
	"math"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// workTolerance is how far the tokens of a request may differ between two sides of which
// only the totals are known. Real tokenizers count the same prompts alike, but another load
// generator may draw them anew for each run.
const workTolerance = 0.01

// unlike says in what two runs of one repeat did not do the same work, "" if they did. Ours
// are compared by hashes of what they sent.
func unlike(base, head result.Run) string {
	hashed := false
	for _, hash := range []string{"schedule_hash", "work_hash"} {
		if base.Audit[hash] != head.Audit[hash] {
			return hash + " differs"
		}
		hashed = hashed || base.Audit[hash] != nil
	}
	if hashed {
		return ""
	}
	return unlikeWork(base, head)
}

// unlikeWork says in what two runs of another load generator did not do the same work, ""
// if nothing tells.
func unlikeWork(base, head result.Run) string {
	b, h := workOf(base), workOf(head)
	for _, w := range []struct {
		what      string
		base      float64
		head      float64
		tolerance float64
	}{
		{"requests", b.sent, h.sent, 0},
		{"input tokens per request", b.input, h.input, workTolerance},
		{"output tokens per request", b.output, h.output, workTolerance},
	} {
		if w.base > 0 && w.head > 0 && math.Abs(w.head/w.base-1) > w.tolerance {
			return fmt.Sprintf("%.6g %s against %.6g", w.head, w.what, w.base)
		}
	}
	return ""
}

type work struct{ sent, input, output float64 }

// workOf is what one pass of a run was given to do; tokens are those of requests that
// succeeded, since no tool counts others.
func workOf(r result.Run) work {
	number := func(name string) float64 { v, _ := r.Audit[name].(float64); return v }
	succeeded := float64(r.Sent - r.Failed)
	if succeeded <= 0 {
		return work{}
	}
	return work{
		sent:  float64(r.Sent) / max(number("passes"), 1),
		input: number("input_tokens") / succeeded, output: number("output_tokens") / succeeded,
	}
}

// tooFewRequests says that a percentile of another load generator rests on too few
// requests. With our own, the file is refused before anything runs.
func tooFewRequests(m metric.Metric, cells ...*result.Cell) string {
	for _, cell := range cells {
		for _, r := range cell.Current() {
			if _, foreign := r.Audit["source"]; !foreign {
				continue
			}
			n := r.Sent - r.Failed
			if passes, ok := r.Audit["passes"].(float64); ok && passes > 1 {
				n = int(float64(n) / passes)
			}
			if r.Status != result.RunOK || n == 0 || n >= m.MinRequests {
				continue
			}
			return fmt.Sprintf("%s needs at least %d requests in a run to be more than luck, and repeat %d has %d", m.ID, m.MinRequests, r.Repeat, n)
		}
	}
	return ""
}
