package reports_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// pairedSession is the mean of the differences of n pairs, and the ends of its interval at 5 % one-sided.
func pairedSession(r *rand.Rand, n int, mean, sd float64) (centre, lower, upper float64) {
	d := make([]float64, n)
	for i := range d {
		d[i] = mean + sd*r.NormFloat64()
	}
	centre, spread := stat.MeanStdDev(d, nil)
	width := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.95) * spread / math.Sqrt(float64(n))
	return centre, centre - width, centre + width
}

var passingMargin = lazyregexp.New(`or a margin of ([0-9.]+) %`)

// TestMarginsThatPass: with the margin that an undecided session names, at least 70 % of sessions of the same pairs pass.
// -v prints the shares.
func TestMarginsThatPass(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	for _, n := range []int{4, 6, 12} {
		for _, sd := range []float64{0.03, 0.08} {
			for _, mean := range []float64{0, 0.03} {
				name := fmt.Sprintf("%d pairs that spread by %g %%, %+g %%", n, 100*sd, 100*mean)
				t.Run(name, func(t *testing.T) {
					named, passed, sessions := 0, 0, 0
					for range 60 {
						centre, lower, upper := pairedSession(r, n, mean, sd)
						if upper < math.Log1p(0.05) || centre >= math.Log1p(0.05) {
							continue // decided, or likely a regression
						}
						doc := inconclusive()
						g := &doc.Gates[0]
						d := &g.Decisions[0]
						d.Change, d.Lower, d.Upper = new(math.Expm1(centre)), new(math.Expm1(lower)), new(math.Expm1(upper))
						d.Verdict, d.NeedPairs = result.Inconclusive, n+1
						g.Decisions = g.Decisions[:1]
						m := passingMargin.FindStringSubmatch(string(written(t, "text", doc, reports.Options{Width: 1000})))
						if m == nil {
							continue // above 100 %
						}
						named++
						margin, err := strconv.ParseFloat(m[1], 64)
						if err != nil {
							t.Fatal(err)
						}
						for range 50 {
							sessions++
							if _, _, upper := pairedSession(r, n, mean, sd); upper < math.Log1p(margin/100) {
								passed++
							}
						}
					}
					if sessions == 0 {
						return // all were decided
					}
					share := float64(passed) / float64(sessions)
					t.Logf("%d sessions name a margin; %.0f %% of others pass with it", named, 100*share)
					if share < 0.7 {
						t.Errorf("%.2f of sessions pass", share)
					}
				})
			}
		}
	}
}
