package plan

import (
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// costID is the metric whose unit is the currency of the plan's price.
const costID = "cost.per_million_tokens"

// Metric returns a metric by its ID: one of the registry, or one that the file declares.
func (p *Plan) Metric(id string) (metric.Metric, bool) { return p.Declared().Lookup(id) }

// Declared returns the metrics that depend on the file: those that it declares, and cost in the currency of its
// price.
func (p *Plan) Declared() metric.Declared {
	var out metric.Declared
	if p.Price != nil {
		m, _ := metric.Lookup(costID)
		m.Unit = metric.InMoney(p.Price.Currency)
		m.Definition += fmt.Sprintf("; a GPU is %g %s an hour, a machine %g", p.Price.GPUHour, p.Price.Currency, p.Price.MachineHour)
		out = append(out, m)
	}
	for _, m := range p.Measures {
		out = append(out, m.Metric())
	}
	return out
}

// Described returns the declared metrics as documents describe them.
func (p *Plan) Described() result.Measures {
	var out result.Measures
	for _, m := range p.Declared() {
		out = append(out, result.MeasureOf(m))
	}
	return out
}
