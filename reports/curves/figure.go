package curves

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// Figure is a quantity that points have values of.
type Figure struct {
	ID    string // of a metric, or one of the package's
	Label string // "TTFT p99"
	Unit  string // of stored values: "s", "tok/s"
	// of is the metric that it is computed from. inverse is set for one over the metric, perGPU for
	// the metric divided by the GPUs of the point.
	of              metric.Metric
	inverse, perGPU bool
}

// Quantity returns the label without the statistic: "TTFT".
func (f Figure) Quantity() string {
	return strings.Join(strings.Fields(strings.Replace(f.Label, f.of.Stat, "", 1)), " ")
}

// Figures that are not metrics of a run.
const (
	PerUserID = "tokens_per_s_per_user"
	PerGPUID  = "output_tokens_per_s_per_gpu"
)

// latencies lists the figures over the load. The first available statistic of each is drawn.
var latencies = []struct {
	quantities []string
	stats      []string
}{
	{[]string{"ttft"}, []string{"p50", "mean"}},
	{[]string{"ttft"}, []string{"p99", "p95", "p90"}},
	{[]string{"tpot", "itl"}, []string{"p50", "mean"}},
	{[]string{"tpot", "itl"}, []string{"p99", "p95", "p90"}},
}

// typicalToken is the index of the time per output token whose inverse is the tokens per second of
// a user.
var typicalToken = 2

// figures chooses the figures that the chart's points have.
func (c *Chart) figures() {
	for i, l := range latencies {
		m, ok := c.first(l.quantities, c.limitedFirst(l.quantities, l.stats))
		if !ok {
			continue
		}
		c.Latencies = append(c.Latencies, plain(m))
		if m, ok := c.first(l.quantities, l.stats); ok && i == typicalToken {
			c.PerUser = &Figure{ID: PerUserID, Label: "Tokens per second of a user, 1 / " + m.Label, Unit: string(metric.TokensPerSecond),
				of: m, inverse: true}
		}
	}
	for _, l := range c.Limits { // times with a limit are drawn
		if m, ok := metric.Lookup(l.Metric); ok && m.Unit == metric.Seconds && c.has(m.ID) {
			c.addLatency(m)
		}
	}
	m, ok := c.first([]string{"output_throughput"}, []string{"mean"})
	if !ok {
		return
	}
	total := plain(m)
	c.Throughput = &total
	for _, l := range c.Lines {
		if slices.ContainsFunc(l.Points, func(p Point) bool { return p.GPUs <= 0 }) {
			c.WithoutGPUs = append(c.WithoutGPUs, l.Name)
		}
	}
	if len(c.WithoutGPUs) == 0 {
		c.PerGPU = &Figure{ID: PerGPUID, Label: "Output tokens per second and GPU", Unit: string(metric.TokensPerSecond), of: m, perGPU: true}
	}
}

// limitedFirst returns the statistics of some quantities, those with a limit first.
func (c *Chart) limitedFirst(quantities, stats []string) []string {
	out := slices.Clone(stats)
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(c.unlimited(quantities, a), c.unlimited(quantities, b)) })
	return out
}

// unlimited returns 0 if a statistic has a limit, else 1.
func (c *Chart) unlimited(quantities []string, stat string) int {
	for _, q := range quantities {
		if slices.ContainsFunc(c.Limits, func(l Limit) bool { return l.Metric == q+"."+stat }) {
			return 0
		}
	}
	return 1
}

func plain(m metric.Metric) Figure {
	return Figure{ID: m.ID, Label: m.Label, Unit: string(m.Unit), of: m}
}

func (c *Chart) addLatency(m metric.Metric) {
	if !slices.ContainsFunc(c.Latencies, func(f Figure) bool { return f.ID == m.ID }) {
		c.Latencies = append(c.Latencies, plain(m))
	}
}

// first returns the first statistic of the first quantity that a point has, from the registry or
// from a load generator with another definition.
func (c *Chart) first(quantities, stats []string) (metric.Metric, bool) {
	for _, q := range quantities {
		for _, stat := range stats {
			for _, id := range idsOf(q, stat) {
				if m, ok := metric.Lookup(id); ok && c.has(id) {
					return m, true
				}
			}
		}
	}
	return metric.Metric{}, false
}

func idsOf(quantity, stat string) []string {
	ids := []string{quantity + "." + stat}
	for _, g := range metric.Foreign() {
		if g.Quantity == quantity {
			ids = append(ids, g.Name+"."+stat)
		}
	}
	return ids
}

// has reports whether a point has a value of a metric.
func (c *Chart) has(id string) bool {
	f := Figure{of: metric.Metric{ID: id}}
	for _, l := range c.Lines {
		for _, p := range l.Points {
			if slices.ContainsFunc(p.Launches, func(l Launch) bool { _, ok := f.value(l, p.GPUs); return ok }) {
				return true
			}
		}
	}
	return false
}

// value returns the figure of one launch, the mean over its passes.
func (f Figure) value(l Launch, gpus int) (float64, bool) {
	var values []float64
	for _, metrics := range l.passes {
		if v, ok := metrics[f.of.ID]; ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0, false
	}
	v := meanOf(values)
	switch {
	case f.inverse && v > 0:
		v = 1 / v
	case f.inverse || f.perGPU && gpus <= 0:
		return 0, false
	case f.perGPU:
		v /= float64(gpus)
	}
	return v, !math.IsInf(v, 0)
}

// All returns the figures for a table of the chart: every metric of a run that its points have,
// including declared ones, and the computed figures.
func (c *Chart) All() []Figure {
	var out []Figure
	for _, m := range c.declared.All() {
		if m.Level == metric.RunLevel && !m.Informational && c.has(m.ID) {
			out = append(out, plain(m))
		}
	}
	for _, g := range metric.Foreign() {
		for _, m := range g.Metrics {
			if !m.Informational && c.has(m.ID) {
				out = append(out, plain(m))
			}
		}
	}
	for _, f := range []*Figure{c.PerUser, c.PerGPU} {
		if f != nil {
			out = append(out, *f)
		}
	}
	return out
}
