package counted_test

import (
	"cmp"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/counted"
)

// counts are the counters of a server before and after a run.
type counts struct {
	before, after map[string]float64
	role          string
}

// TestCountedMetrics: metrics of counters are made of what all servers' counters rose by, and have a
// reason where that is not known.
func TestCountedMetrics(t *testing.T) {
	drafts := func(drafts, tokens, accepted float64) map[string]float64 {
		return map[string]float64{metric.CounterDrafts: drafts, metric.CounterDraftTokens: tokens, metric.CounterAcceptedTokens: accepted}
	}
	served := func(prompt, output float64, role string) counts {
		none := map[string]float64{metric.CounterPromptTokens: 5, metric.CounterGenerationTokens: 5}
		return counts{none, map[string]float64{metric.CounterPromptTokens: prompt + 5, metric.CounterGenerationTokens: output + 5}, role}
	}
	for name, tt := range map[string]struct {
		servers []counts
		metric  string
		want    float64
		problem string
		absent  bool
	}{
		"length": {[]counts{{drafts(10, 40, 10), drafts(110, 440, 180), ""}}, "acceptance.length", 2.7, "", false},
		"rate":   {[]counts{{drafts(10, 40, 10), drafts(110, 440, 180), ""}}, "acceptance.rate", 170.0 / 400, "", false},
		"of two servers": {[]counts{{drafts(0, 0, 0), drafts(100, 400, 100), ""}, {drafts(0, 0, 0), drafts(300, 1200, 700), ""}},
			"acceptance.length", 3, "", false},
		"SGLang's length": {[]counts{{map[string]float64{metric.CounterDrafts: 0, metric.CounterGenerationTokens: 5},
			map[string]float64{metric.CounterDrafts: 100, metric.CounterGenerationTokens: 305}, ""}}, "acceptance.length", 3, "", false},
		"preemptions": {[]counts{{map[string]float64{metric.CounterPreemptions: 1}, map[string]float64{metric.CounterPreemptions: 6}, ""}},
			"preemptions.per_request", 0.5, "", false},
		"even": {[]counts{served(90, 10, ""), served(50, 50, "")}, "replica.balancedness", 1, "", false},
		"one gets all": {[]counts{served(0, 0, ""), served(0, 0, ""), served(90, 10, ""), served(0, 0, "")},
			"replica.balancedness", 0.25, "", false},
		"one server":         {[]counts{served(90, 10, "")}, "replica.balancedness", 0, "nothing counts", true},
		"prefill and decode": {[]counts{served(90, 10, "producer"), served(9, 1, "consumer")}, "replica.balancedness", 0, "nothing counts", true},
		"nothing was served": {[]counts{served(0, 0, ""), served(0, 0, "")}, "replica.balancedness", 0, "did not rise", false},
		"no drafts":          {[]counts{{drafts(10, 40, 10), drafts(10, 40, 10), ""}}, "acceptance.length", 0, "did not rise", false},
		"reset":              {[]counts{{drafts(10, 40, 10), drafts(9, 440, 180), ""}}, "acceptance.length", 0, "fell from 10 to 9", false},
		"gone":               {[]counts{{drafts(10, 40, 10), map[string]float64{}, ""}}, "acceptance.length", 0, "disappeared", false},
		"not counted":        {[]counts{{map[string]float64{}, map[string]float64{}, ""}}, "acceptance.length", 0, "nothing counts", true},
		"one cannot be read": {[]counts{{drafts(0, 0, 0), drafts(100, 400, 100), ""}, {}}, "acceptance.length", 0, "connection refused", false},
	} {
		tally, values := counted.New(time.Time{}, time.Time{}), map[string]float64{}
		for _, c := range tt.servers {
			if c.before == nil {
				tally.Unread("server", errors.New("connection refused"))
			} else {
				tally.AddServer(c.before, c.after, "server", cmp.Or(c.role, "server"))
			}
		}
		tally.Client(10, 300, 20)
		problems := tally.Count(metric.All(), nil, values)
		got, there := values[tt.metric]
		if there != (tt.problem == "") || there && math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: %g, %v, want %g", name, got, there, tt.want)
		}
		for _, p := range problems {
			wrong := tt.problem == "" || !strings.Contains(p.Err.Error(), tt.problem) || counted.Permanent(p.Err) != tt.absent
			if p.Metric == tt.metric && wrong {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

// TestToyMetric: a metric of a counter is one row.
func TestToyMetric(t *testing.T) {
	toy := metric.Metric{ID: "stalls.per_request", Counted: true, Formulas: []metric.Formula{
		{Of: "stalls", By: metric.SentRequests, Factor: 100},
	}}
	tally, values := counted.New(time.Time{}, time.Time{}), map[string]float64{}
	tally.AddServer(map[string]float64{"stalls": 1}, map[string]float64{"stalls": 3}, "server", "server")
	tally.Client(10, 300, 20)
	if problems := tally.Count([]metric.Metric{toy}, nil, values); len(problems) > 0 || values[toy.ID] != 20 {
		t.Errorf("%v, %v", values, problems)
	}
}

// TestUnreadServerKeepsOwnCounters: a server whose metrics cannot be read says nothing about the energy and the price. A
// llama-server on a GPU did not answer GET /metrics within two seconds, and half of the runs had no energy.
func TestUnreadServerKeepsOwnCounters(t *testing.T) {
	tally, values := counted.New(time.Time{}, time.Time{}), map[string]float64{}
	tally.Unread("server", errors.New("deadline exceeded"))
	tally.Add(metric.CounterJoules, 600)
	tally.Unknown(metric.CounterCPUJoules, errors.New("the counter was not read"))
	tally.Add(metric.CounterCPUJoules, 0)
	tally.Client(10, 300, 20)
	problems := map[string]string{}
	for _, p := range tally.Count(metric.All(), nil, values) {
		problems[p.Metric] = p.Err.Error()
	}
	if got := values["energy.per_output_token"]; got != 2 {
		t.Errorf("energy per token %g (%s), want 2", got, problems["energy.per_output_token"])
	}
	if got := problems["energy.cpu_per_output_token"]; got != "the counter was not read" {
		t.Errorf("energy of the processors: %q", got)
	}
	if got := problems["preemptions.per_request"]; !strings.Contains(got, "deadline exceeded") {
		t.Errorf("preemptions: %q", got)
	}
}
