package cli

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/history"
)

// TestTheSpreadOfMorePassesThanCalibrated: what further passes would take off a spread is an estimate
// with fewer degrees of freedom than its pairs, and is left on.
func TestTheSpreadOfMorePassesThanCalibrated(t *testing.T) {
	n := history.Noise{Cell: "c", Metric: "ttft.p50", Pairs: 10, Launch: 0.01, Pass: 0.02, Split: true}
	n.PairSD = n.PairSDAt(2)
	spread := calibrationOf(history.Record{Noise: []history.Noise{n}}).Spread
	for passes, want := range map[int]float64{1: math.Sqrt(2 * (0.0001 + 0.0004)), 2: n.PairSD, 8: n.PairSD} {
		if sd, df, ok := spread("c", "ttft.p50", "", passes); !ok || df != 10 || math.Abs(sd-want) > 1e-12 {
			t.Errorf("%d passes: %g with %g degrees of freedom, want %g", passes, sd, df, want)
		}
	}
}
