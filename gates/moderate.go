package gates

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// moderatedCells is the least number of cells of one metric whose variances are moderated.
const moderatedCells = 8

// Moderation describes the common variance of the cells of one metric.
type Moderation struct {
	// PriorSD is the common standard deviation s0, with the weight of PriorDF (d0).
	PriorDF, PriorSD float64
	// Effective is the number of independent cells that the cells are worth.
	Effective float64
}

// fitModeration estimates the prior of the variances of several cells of one metric from their
// differences, cells by repeats, complete. Variances follow s0²·F(d, d0): d0 and s0² are fitted to
// the mean and the variance of ln s² (G. K. Smyth, Statist. Appl. Genet. Mol. Biol. 3, 2004,
// section 6.2; limma's fitFDist). The variance of each cell then becomes
//
//	s̃² = (d0·s0² + d·s²)/(d0 + d)
//
// limma fits thousands of genes. A session has a dozen cells, whose variances may not come from one
// distribution. Therefore these departures from limma hold the error rate, which
// TestModerationHoldsTheLevel simulates:
//
//   - d0 is a lower bound: the variance of ln s² enters at its upper 95 % bound,
//   - only a third of d0 is added to the degrees of freedom,
//   - p values are multiplied by 1.25, because some cells are noisier than the prior, and bounds
//     use the cell's own variance: with moderated bounds, a cell at the margin that is three times
//     as noisy as eleven others would pass in 5.9 % of sessions, although few regressions would be
//     claimed falsely,
//   - cells that share their launches have variances that agree by chance, so the sampling variance
//     of ln s² is reduced by their mean squared correlation ρ², and neither d0 nor the degrees of
//     freedom exceed those of cells/(1 + (cells − 1)·ρ²) independent cells.
//
// Variances that differ by more than chance make d0 fall towards 0, which switches the moderation
// off. A test of the same data must not switch it off: that would happen most often if the variance
// of one cell came out too small, and that cell would then be tested with it.
//
// It rejects fewer than [moderatedCells] cells, fewer than 3 repeats, and a cell without spread.
func fitModeration(cells [][]float64) (Moderation, error) {
	if len(cells) < moderatedCells {
		return Moderation{}, fmt.Errorf("%d cells are too few to share their variance; moderation needs %d", len(cells), moderatedCells)
	}
	n := len(cells[0])
	if n < 3 {
		return Moderation{}, fmt.Errorf("%s are too few for the variance of a cell; moderation needs 3", repeats(n))
	}
	d := float64(n - 1)
	logs := make([]float64, len(cells))
	for i, x := range cells {
		m, sd := meanSD(x)
		if !(sd > rounding*math.Abs(m)) || math.IsInf(sd, 0) {
			return Moderation{}, errors.New("a cell has no spread, so no variance can be shared")
		}
		logs[i] = 2 * math.Log(sd)
	}
	rho := sharedVariance(cells)
	m := Moderation{Effective: float64(len(cells)) / (1 + float64(len(cells)-1)*rho)}
	chi := distuv.ChiSquared{K: float64(len(logs) - 1)}
	inflation := chi.K / chi.Quantile(0.05)
	m.PriorDF, m.PriorSD = fitPrior(logs, d, rho, inflation)
	m.PriorDF = min(m.PriorDF, d*m.Effective)
	return m, nil
}

// fitPrior fits d0, which can be infinite, and s0 to the logarithms of variances with d
// degrees of freedom, whose variance is inflated:
//
//	Var ln s² = ψ′(d/2)·(1 − ρ²) + ψ′(d0/2)
//	E ln s²   = ln s0² + ψ(d/2) − ln(d/2) − ψ(d0/2) + ln(d0/2)
func fitPrior(logs []float64, d, rho, inflation float64) (df, sd float64) {
	bias := func(df float64) float64 { return mathext.Digamma(df/2) - math.Log(df/2) }
	centre, spread := meanSD(logs)
	df = math.Inf(1)
	logVariance := centre - bias(d)
	if excess := inflation*spread*spread - trigamma(d/2)*(1-rho); excess > 0 {
		df = 2 * inverseTrigamma(excess)
		logVariance += bias(df)
	}
	return df, math.Exp(logVariance / 2)
}

// misfit is the factor on p values for variances that are not drawn from a prior.
const misfit = 1.25

// test returns the t-test of n differences with the moderated variance. Its bounds still use the
// cell's own.
func (m Moderation) test(s Statistic, n int) Statistic {
	d := s.DF
	s.DF = min(m.PriorDF/3+d, d*m.Effective)
	s.Noise.Prior = s.DF - d
	s.Noise.SD = math.Sqrt((m.PriorDF*m.PriorSD*m.PriorSD + d*s.Noise.SD*s.Noise.SD) / (m.PriorDF + d))
	s.student(s.Noise.se(n))
	s.Greater, s.Less = min(1, misfit*s.Greater), min(1, misfit*s.Less)
	return s
}

// sharedVariance returns the mean squared correlation of the cells, less its expectation for
// independent cells, in [0, 1].
func sharedVariance(cells [][]float64) float64 {
	n := len(cells[0])
	sum, pairs := 0.0, 0
	for i := range cells {
		for k := range i {
			r := correlation(cells[i], cells[k])
			sum += r * r
			pairs++
		}
	}
	// Adjusted like R²: without correlation the expectation of r² is 1/(n − 1).
	chance := 1 / float64(n-1)
	return max(0, min((sum/float64(pairs)-chance)/(1-chance), 1))
}

// correlation returns Pearson's correlation.
func correlation(x, y []float64) float64 {
	mx, my := metric.Mean(x), metric.Mean(y)
	var xx, yy, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		yy += (y[i] - my) * (y[i] - my)
		xy += (x[i] - mx) * (y[i] - my)
	}
	return xy / math.Sqrt(xx*yy)
}

// moderate replaces the t-tests of the metrics that have enough cells.
func moderate(entries []*entry, set Settings) {
	var metrics []string
	byMetric := map[string][]*entry{}
	for _, e := range entries {
		if e.test == nil || !e.test.moderates || !e.tested || e.Exact || e.stat.Rounded || e.Metric.Quality || e.sample.Known != nil ||
			e.sample.Clusters.Drawn {
			continue
		}
		if byMetric[e.Metric.ID] == nil {
			metrics = append(metrics, e.Metric.ID)
		}
		byMetric[e.Metric.ID] = append(byMetric[e.Metric.ID], e)
	}
	for _, id := range metrics {
		moderateMetric(complete(byMetric[id]), set)
	}
}

// complete returns the entries with the most repeats, and all with the same repeats.
func complete(entries []*entry) []*entry {
	most := slices.MaxFunc(entries, func(a, b *entry) int { return len(a.sample.repeats) - len(b.sample.repeats) })
	var same []*entry
	for _, e := range entries {
		if slices.Equal(e.sample.repeats, most.sample.repeats) {
			same = append(same, e)
		}
	}
	return same
}

// moderateMetric replaces the tests of one metric. Data that two gates compare count once.
func moderateMetric(entries []*entry, set Settings) {
	var cells [][]float64
	for _, e := range entries {
		if !slices.ContainsFunc(cells, func(x []float64) bool { return slices.Equal(x, e.sample.Differences) }) {
			cells = append(cells, e.sample.Differences)
		}
	}
	if len(cells) < moderatedCells {
		return
	}
	m, err := fitModeration(cells)
	if err != nil {
		for _, e := range entries {
			e.Warnings = append(e.Warnings, "the variance is the cell's own: "+err.Error())
		}
		return
	}
	for _, e := range entries {
		own, err := pairedT(e.sample.Differences, e.sample.Floor)
		if err != nil {
			continue // its earlier test succeeded
		}
		own.bound(0, set.Critical(own.DF)*own.SE)
		e.apply(m.test(own, len(e.sample.Differences)))
		e.Moderated = &m
	}
}
