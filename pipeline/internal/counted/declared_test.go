package counted_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/counted"
	"github.com/servegate/pipeline/steps"
)

// TestGauge: what several programs show is joined whenever one of them is sampled, and only samples within the
// run count.
func TestGauge(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, 0).Add(time.Duration(s * 1e9)) }
	type samples struct {
		first  float64
		values []float64 // one a second, each the sum of two series
	}
	// The last sample of the first is after the end.
	two := []samples{{1, []float64{10, 20, 30, 99}}, {1.5, []float64{2, 4, 6}}}
	for _, tt := range []struct {
		statistic steps.MeasureStatistic
		across    steps.MeasureAcross
		programs  []samples
		ended     float64
		want      float64
		problem   string
	}{
		{steps.MeasureMean, steps.AcrossSum, two, 3.9, (12 + 22 + 24 + 34 + 36) / 5.0, ""},
		{steps.MeasureMax, steps.AcrossSum, two, 3.9, 36, ""},
		{steps.MeasureMax, steps.AcrossMean, two, 3.9, 9, ""},
		{steps.MeasureMax, steps.AcrossMax, two, 3.9, 29, ""},
		{steps.MeasureMean, steps.AcrossSum, two, 2.2, 0, "running was read 2 times within the run, and 5 are the least"},
		// One that shows nothing while it is busy is not described by its quiet times.
		{steps.MeasureMean, steps.AcrossSum, []samples{{1, []float64{2, 2, 2, 2, 2, 2}}}, 15, 0,
			"running was not read for 9s of a run of 15s"},
	} {
		m := steps.Measure{Name: "x", Source: steps.MeasureServers, Series: "running", Kind: steps.MeasureGauge, Statistic: tt.statistic,
			Across: tt.across}
		tally, values := counted.New(at(0), at(tt.ended)), map[string]float64{}
		for _, of := range tt.programs {
			p := counted.NewProgram("server", nil, []steps.Measure{m}, steps.MeasureServers)
			for i, v := range of.values {
				p.Take(fmt.Appendf(nil, "running{gpu=\"0\"} %g\nrunning{gpu=\"1\"} 1\n", v-1), at(of.first+float64(i)), counted.DuringRun)
			}
			tally.Read([]*counted.Program{p})
		}
		problems := tally.Count(nil, []steps.Measure{m}, values)
		if tt.problem != "" {
			if len(problems) != 1 || !strings.Contains(problems[0].Err.Error(), tt.problem) {
				t.Errorf("%s of %s: %v, want %q", tt.statistic, tt.across, problems, tt.problem)
			}
		} else if math.Abs(values["measure.x"]-tt.want) > 1e-12 {
			t.Errorf("%s of %s: %g, %v, want %g", tt.statistic, tt.across, values["measure.x"], problems, tt.want)
		}
	}
}
