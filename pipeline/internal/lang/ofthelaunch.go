package lang

import (
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/result"
)

// ofTheLaunch refuses metrics of a launch where a gate has no two launches to compare, or
// where a server is not launched at all.
func (e *evaluator) checkLaunchMetrics(g *Gate, b *block, base *Baseline, bm *Benchmark) {
	bases := map[string]string{} // targets
	for _, c := range bm.Cells {
		if value, rest := split(c, base.Axis); base.Kind == result.BaselinePaired && value == base.Value {
			bases[rest] = c.Target
		}
	}
	for _, m := range g.Metrics {
		if m.Level != metric.LaunchLevel {
			continue
		}
		for _, i := range g.Cells {
			target := bm.Cells[i].Target
			value, rest := split(bm.Cells[i], base.Axis)
			switch s := e.servers[target]; {
			case s != nil && s.Spec.URL != "":
				e.report(problem(codeRefused, rangeOfMetric(b, m), fmt.Sprintf("metric.%s is of a launch", m.ID),
					fmt.Sprintf("%s answers at a url and is not launched. Gate a metric of its runs, such as metric.ttft.p99.", target)))
			case target != "" && base.Kind == result.BaselinePaired && value != base.Value && bases[rest] == target:
				e.report(problem(codeRefused, rangeOfMetric(b, m), fmt.Sprintf("metric.%s is of a launch", m.ID),
					fmt.Sprintf("Both sides of %s run in the same launch of %s, so they have the same value. Compare two servers, or gate a metric of the runs.", base.Addr, target)))
			default:
				continue
			}
			break
		}
	}
}
