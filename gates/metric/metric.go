// Package metric is the registry of what can be measured, as data: the identity,
// unit, direction, scale, definition and source of every metric that a gate may name.
//
// Nothing here measures or decides. The registry is read by the language (so that a
// misspelt metric is a diagnostic), by the reduction of records (which values to
// compute), by the gates (which direction is worse) and by the reports (units).
package metric

// Direction says which way is worse. It is declared, never inferred from a name.
type Direction string

// The directions a metric can have.
const (
	LowerIsBetter  Direction = "lower"
	HigherIsBetter Direction = "higher"
)

// Scale says on which scale two values are compared.
type Scale string

// The scales: ratios for times and rates, differences for quantities that can be
// zero or negative, proportions for success rates.
const (
	Log        Scale = "log"
	Difference Scale = "difference"
	Proportion Scale = "proportion"
)

// Unit is the unit a value is stored in. Reports choose a prefix (ms for s).
type Unit string

// The units of stored values.
const (
	Seconds         Unit = "s"
	TokensPerSecond Unit = "tok/s"
	RequestsPerSec  Unit = "req/s"
	Count           Unit = "count"
	Fraction        Unit = "fraction"
)

// Metric describes one quantity of one run. Values are float64 in Unit.
type Metric struct {
	// ID is the reference without its root: "ttft.p99" for metric.ttft.p99.
	ID string
	// Label is what a table prints: "TTFT p99".
	Label string
	// Unit of stored values.
	Unit Unit
	// Direction that is better.
	Direction Direction
	// Scale of comparison.
	Scale Scale
	// Quantile in (0,1) where the statistic is a percentile, otherwise 0.
	Quantile float64
	// MinRequests is the least number of requests with which the metric may be
	// gated: k(1-q) >= 10 for an upper percentile q, 1 otherwise.
	MinRequests int
	// FixedByRate is true where a finite open-loop request rate fixes the value, so
	// that gating it would say nothing (throughputs).
	FixedByRate bool
	// Definition is the formula in one sentence, with the events it is taken between.
	Definition string
	// Source is the tool (with version) or paper whose definition this is.
	Source string
}
