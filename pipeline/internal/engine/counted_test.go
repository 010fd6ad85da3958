package engine

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// counts are the counters of a server before and after a run.
type counts struct{ before, after map[string]float64 }

func viewsOf(servers ...counts) *watch {
	w := &watch{}
	for _, c := range servers {
		v := &view{member: &member{Member: &Member{Name: "server"}}, err: errors.New("connection refused")}
		if c.before != nil {
			v.before, v.after = &steps.Observation{Counters: c.before}, &steps.Observation{Counters: c.after}
		}
		w.views = append(w.views, v)
	}
	return w
}

// TestCountedMetrics: metrics of counters are made of what all servers' counters rose by, and have a
// reason where that is not known.
func TestCountedMetrics(t *testing.T) {
	drafts := func(drafts, tokens, accepted float64) map[string]float64 {
		return map[string]float64{steps.CounterDrafts: drafts, steps.CounterDraftTokens: tokens, steps.CounterAcceptedTokens: accepted}
	}
	for name, tt := range map[string]struct {
		servers []counts
		metric  string
		want    float64
		problem string
		absent  bool
	}{
		"length":             {[]counts{{drafts(10, 40, 10), drafts(110, 440, 180)}}, "acceptance.length", 2.7, "", false},
		"rate":               {[]counts{{drafts(10, 40, 10), drafts(110, 440, 180)}}, "acceptance.rate", 170.0 / 400, "", false},
		"of two servers":     {[]counts{{drafts(0, 0, 0), drafts(100, 400, 100)}, {drafts(0, 0, 0), drafts(300, 1200, 700)}}, "acceptance.length", 3, "", false},
		"SGLang's length":    {[]counts{{map[string]float64{steps.CounterDrafts: 0, steps.CounterGenerationTokens: 5}, map[string]float64{steps.CounterDrafts: 100, steps.CounterGenerationTokens: 305}}}, "acceptance.length", 3, "", false},
		"preemptions":        {[]counts{{map[string]float64{steps.CounterPreemptions: 1}, map[string]float64{steps.CounterPreemptions: 6}}}, "preemptions.per_request", 0.5, "", false},
		"no drafts":          {[]counts{{drafts(10, 40, 10), drafts(10, 40, 10)}}, "acceptance.length", 0, "did not rise", false},
		"reset":              {[]counts{{drafts(10, 40, 10), drafts(9, 440, 180)}}, "acceptance.length", 0, "fell from 10 to 9", false},
		"gone":               {[]counts{{drafts(10, 40, 10), map[string]float64{}}}, "acceptance.length", 0, "no longer", false},
		"not counted":        {[]counts{{map[string]float64{}, map[string]float64{}}}, "acceptance.length", 0, "no server counts", true},
		"one cannot be read": {[]counts{{drafts(0, 0, 0), drafts(100, 400, 100)}, {}}, "acceptance.length", 0, "connection refused", false},
	} {
		run := result.Run{Sent: 10, Metrics: map[string]float64{}}
		problems := viewsOf(tt.servers...).tally().count(&run)
		got, there := run.Metrics[tt.metric]
		if there != (tt.problem == "") || there && math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("%s: %g, %v, want %g", name, got, there, tt.want)
		}
		for _, p := range problems {
			if p.metric == tt.metric && (!strings.Contains(p.text, tt.problem) || p.absent != tt.absent || tt.problem == "") {
				t.Errorf("%s: %+v", name, p)
			}
		}
	}
}

func TestCountedMetricsAreOfTheRegistry(t *testing.T) {
	rows := map[string]bool{}
	for _, c := range countedMetrics {
		if m, ok := metric.Lookup(c.metric); !ok || !m.Counted || c.requests == (c.per != "") {
			t.Errorf("%+v", c)
		}
		rows[c.metric] = true
	}
	for _, m := range metric.All() {
		if m.Counted && !rows[m.ID] {
			t.Errorf("nothing computes %s", m.ID)
		}
	}
}
