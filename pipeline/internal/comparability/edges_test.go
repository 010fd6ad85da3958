package comparability_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/record"
)

// TestReasoning: an answer of which more is reasoning comes later, though its tokens do not.
func TestReasoning(t *testing.T) {
	of := func(chars [4]int) *result.Cell { // by repeat
		repeat := -1
		return cell("0.7", len(chars), func(int) []record.Request {
			repeat++
			requests := answered(40, greedyText, nil)
			for i := range requests {
				requests[i].Text.Reasoning = chars[repeat]
			}
			return requests
		})
	}
	for chars, want := range map[[4]int]bool{
		{2, 2, 2, 2}: false, {8, 8, 8, 8}: false, {60, 60, 60, 60}: true,
		{90, 90, 90, 3}: true, {90, 90, 90, 1}: false, // one repeat has less
	} {
		got, _ := comparability.CompareRequests("benchmark.b", of([4]int{2, 2, 2, 2}), of(chars))
		found := slices.ContainsFunc(got.Differences, func(d result.RequestDifference) bool {
			return d.What == result.OtherReasoning && d.Shown
		})
		if found != want || len(got.Differences) > 1 {
			t.Errorf("%d characters of reasoning: %+v", chars, got.Differences)
		}
	}
}

// TestFinishReasons: a head whose answers are no longer calls of a tool, or end at a filter, is named if each repeat shows it.
func TestFinishReasons(t *testing.T) {
	of := func(reason string, shares [4]int) *result.Cell { // in percent, by repeat
		repeat := -1
		return cell("0.7", len(shares), func(int) []record.Request {
			repeat++
			requests := answered(40, greedyText, nil)
			for i := range requests {
				requests[i].Finish = "stop"
				if 100*i < shares[repeat]*len(requests) {
					requests[i].Finish = reason
				}
			}
			return requests
		})
	}
	for _, tt := range []struct {
		reason     string
		base, head [4]int
		want       string
	}{
		{"tool_calls", [4]int{100, 100, 100, 100}, [4]int{}, `"tool_calls": base 100 %, head 0 %`},
		{"content_filter", [4]int{}, [4]int{20, 15, 20, 20}, `"content_filter": base 0 %, head 19 %`},
		{"content_filter", [4]int{}, [4]int{5, 5, 5, 5}, ""},
		{"length", [4]int{100, 100, 100, 100}, [4]int{}, "the limit of their length ended: base 100 %, head 0 %"},
		{"tool_calls", [4]int{50, 50, 50, 50}, [4]int{90, 90, 90, 40}, ""}, // one repeat has fewer
	} {
		got, _ := comparability.CompareRequests("benchmark.b", of(tt.reason, tt.base), of(tt.reason, tt.head))
		named := slices.ContainsFunc(got.Differences, func(d result.RequestDifference) bool {
			return d.What == result.OtherFinish && d.Shown && strings.Contains(d.Text, cmp.Or(tt.want, tt.reason))
		})
		for _, d := range got.Differences {
			if strings.Contains(d.Text, `"length"`) || strings.Contains(d.Text, `"stop"`) {
				t.Errorf("it has a comparison of its own: %s", d.Text)
			}
		}
		if named != (tt.want != "") {
			t.Errorf("%s %d against %d: %+v", tt.reason, tt.head, tt.base, got.Differences)
		}
	}
}

// TestEdgesOfRuns: cost before the first measured request and after the last token of an answer is reported, and noise
// of both is not.
func TestEdgesOfRuns(t *testing.T) {
	const n, repeats, ms = 40, 4, int64(1e6)
	rng := rand.New(rand.NewPCG(5, 1))
	type times struct{ tail, warm, answer int64 } // nanoseconds
	gathered, closed := 0, 0.0
	of := func(at times, failed int) *result.Cell {
		c := cell("0.7", repeats, func(int) []record.Request { return nil })
		for i := range c.Runs {
			noise := func(v int64) int64 { return v + v*int64(rng.IntN(20)-10)/100 }
			measured := answered(n, greedyText, func(_ int, q *asked) {
				end := noise(at.answer)
				for k := range q.Events {
					q.Events[k].At = end - int64(len(q.Events)-k)
				}
				for k := 1; k <= gathered; k++ {
					q.Events[k].At = q.Events[0].At
				}
				q.Events[len(q.Events)-1].At, q.Done = end, end+noise(at.tail)
			})
			warm := answered(20, greedyText, func(i int, q *asked) {
				if q.Events[len(q.Events)-1].At = noise(at.warm); i < failed {
					q.Failure = record.FailStatus
				}
			})
			c.Runs[i].Requests = comparability.CollectRequests(record.ListOf(measured...), record.ListOf(warm...))
			c.Runs[i].Sent, c.Runs[i].Audit["closed"] = n, closed
			c.Runs[i].Metrics = map[string]float64{"e2el.mean": float64(at.answer) / 1e9}
		}
		return c
	}
	honest := times{tail: ms / 10, warm: 100 * ms, answer: 100 * ms}
	for name, tt := range map[string]struct {
		head   times
		failed int
		// gathered events of each answer, and closed connections of each run
		gathered int
		closed   float64
		want     []result.DifferentRequests
	}{
		"the same":                     {honest, 0, 0, 0, nil},
		"slower in all":                {times{honest.tail, 150 * ms, 150 * ms}, 0, 0, 0, nil},
		"slower in the measured ones":  {times{honest.tail, 100 * ms, 300 * ms}, 0, 0, 0, nil},
		"ends later":                   {times{150 * ms, honest.warm, honest.answer}, 0, 0, 0, []result.DifferentRequests{result.LateEnds}},
		"a tail of half a millisecond": {times{ms / 2, honest.warm, honest.answer}, 0, 0, 0, nil},
		"slow first requests":          {times{honest.tail, 700 * ms, honest.answer}, 0, 0, 0, []result.DifferentRequests{result.OtherWarmup}},
		"first requests that fail":     {honest, 15, 0, 0, []result.DifferentRequests{result.OtherWarmup}},
		"one first request fails":      {honest, 1, 0, 0, nil},
		"events come together":         {honest, 0, 12, 0, []result.DifferentRequests{result.GatheredEvents}},
		"few events do":                {honest, 0, 5, 0, nil},
		"closes after each answer":     {honest, 0, 0, 60, []result.DifferentRequests{result.OtherConnections}},
		"a few closed connections":     {honest, 0, 0, 10, nil},
	} {
		t.Run(name, func(t *testing.T) {
			gathered, closed = 0, 0
			base := of(honest, 0)
			gathered, closed = tt.gathered, tt.closed
			head := of(tt.head, tt.failed)
			for _, sides := range [][2]*result.Cell{{base, head}, {head, base}} {
				got, _ := comparability.CompareRequests("benchmark.b", sides[0], sides[1])
				var found []result.DifferentRequests
				for _, d := range got.Differences {
					if found = append(found, d.What); !d.Shown {
						t.Errorf("it decides: %+v", d)
					}
				}
				if !slices.Equal(found, tt.want) {
					t.Errorf("%+v, want %v", got.Differences, tt.want)
				}
			}
		})
	}
}

// TestEdgesNeedAllRepeats: each of at least three repeats has to show a difference of times or connections.
func TestEdgesNeedAllRepeats(t *testing.T) {
	type values struct{ tail, answer, gathered, closed float64 }
	of := func(repeats int, all, last values) *result.Cell {
		c := cell("0.7", repeats, func(int) []record.Request { return answered(9, greedyText, nil) })
		for i := range c.Runs {
			v := all
			if i == repeats-1 {
				v = last
			}
			r := &c.Runs[i]
			r.Sent, r.Metrics, r.Audit["closed"] = 50, map[string]float64{"e2el.mean": v.answer}, v.closed
			r.Requests.Tail, r.Requests.Events, r.Requests.Gathered = v.tail, 1000, int(v.gathered)
			r.Requests.Warmup = &result.Warmup{Sent: 50, Mean: v.answer}
		}
		return c
	}
	quiet := values{0.001, 0.1, 10, 0}
	change := func(f func(*values)) values {
		v := quiet
		f(&v)
		return v
	}
	late := change(func(v *values) { v.tail = 0.05 })
	together := change(func(v *values) { v.gathered = 500 })
	closing := func(n float64) values { return change(func(v *values) { v.closed = n }) }
	for name, tt := range map[string]struct {
		repeats         int
		base, all, last values
		want            bool
	}{
		"later":                 {3, quiet, late, late, true},
		"later in two of three": {3, quiet, late, change(func(v *values) { v.tail = 0 }), false},
		"later in two":          {2, quiet, late, late, false},
		"a fiftieth of long answers": {3, change(func(v *values) { v.answer = 10 }), change(func(v *values) { v.tail, v.answer = 0.05, 10 }),
			change(func(v *values) { v.tail, v.answer = 0.05, 10 }), false},
		"half a millisecond of short ones": {3, change(func(v *values) { v.tail, v.answer = 0, 0.01 }),
			change(func(v *values) { v.tail, v.answer = 0.0005, 0.01 }), change(func(v *values) { v.tail, v.answer = 0.0005, 0.01 }), false},
		"half as much again": {3, change(func(v *values) { v.tail = 0.04 }), change(func(v *values) { v.tail = 0.06 }),
			change(func(v *values) { v.tail = 0.06 }), false},
		"together":                          {3, quiet, together, together, true},
		"together in two of three":          {3, quiet, together, change(func(v *values) { v.gathered = 5 }), false},
		"closed":                            {3, quiet, closing(40), closing(40), true},
		"closed after few with the warm-up": {3, quiet, closing(20), closing(20), false},
		"closed in two of three": {3, closing(1), closing(60),
			closing(0), false},
	} {
		got, _ := comparability.CompareRequests("benchmark.b", of(tt.repeats, tt.base, tt.base), of(tt.repeats, tt.all, tt.last))
		if len(got.Differences) > 0 != tt.want {
			t.Errorf("%s: %+v", name, got.Differences)
		}
	}
}

// TestTailsAndWarmups: a tail is never less than nothing, unknown ones do not count, and a run without a warm-up has none.
func TestTailsAndWarmups(t *testing.T) {
	requests := answered(4, greedyText, func(i int, q *asked) {
		q.Events[len(q.Events)-1].At = 1e9
		q.Done = []int64{3e9, 0, -1, 2e9}[i]
	})
	got := comparability.CollectRequests(record.ListOf(requests...), record.List{})
	again := comparability.CollectRequests(record.ListOf(requests[0], requests[0]), record.List{})
	if once := comparability.CollectRequests(record.ListOf(requests[0]), record.List{}); again.Digest != once.Digest {
		t.Error("a request of one index is compared twice")
	}
	few := func(failed int) *result.Cell {
		c := cell("0.7", 1, func(int) []record.Request { return answered(9, greedyText, nil) })
		c.Runs[0].Requests.Warmup = &result.Warmup{Sent: 5, Failed: failed}
		return c
	}
	if got, _ := comparability.CompareRequests("benchmark.b", few(0), few(5)); len(got.Differences) > 0 {
		t.Errorf("five requests of a warm-up: %+v", got.Differences)
	}
	if got.Tail != 1 || got.Warmup != nil { // of 2, 0 and 1 s
		t.Errorf("a tail of %g s, warm-up %+v", got.Tail, got.Warmup)
	}
}
