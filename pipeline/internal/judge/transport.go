package judge

import (
	"fmt"

	"github.com/servegate/pipeline/reports/result"
)

// transportExclusion excludes cells for the transport of their KV cache: it contradicts the declared one, or is
// unproven and the gate fails on that.
func transportExclusion(unproven result.Action, cells ...*result.Cell) exclusion {
	d := transportOf(result.TransportContradicted, cells...)
	if unproven == result.Fail {
		d = earliest(d, transportOf(result.TransportUnproven, cells...))
	}
	return d
}

// transportOf describes the first repeat with a sound run whose transport has a status, and counts such runs. It
// returns the zero exclusion if there is none.
func transportOf(status result.TransportStatus, cells ...*result.Cell) exclusion {
	var first result.Run
	target, n, all := "", 0, 0
	for _, cell := range cells {
		if cell == nil {
			continue
		}
		for r := range sound(cell) {
			if r.Transport == nil {
				continue
			}
			all++
			if r.Transport.Status != status {
				continue
			}
			if n++; n == 1 || r.Pair() < first.Pair() {
				first, target = r, cell.Target
			}
		}
	}
	if n == 0 {
		return exclusion{}
	}
	return exclusion{fmt.Sprintf("the KV transfer of %s is %s in %d of %d runs (repeat %d: %s)", target, status, n, all, first.Pair(),
		first.Transport.Reason), first.Pair()}
}

// warnOfTransport adds warnings of unproven transport to the decisions of gates that ask for them.
func (c *collector) warnOfTransport() {
	for i, g := range c.plan.Gates {
		if g.OnUnprovenTransport != result.Warn {
			continue
		}
		decisions := c.doc.Gates[i].Decisions
		for j := range decisions {
			d := &decisions[j]
			if d.Kind == result.KindSuccess {
				continue
			}
			head, base := c.cells[key(g.Benchmark, d.Cell)], c.cells[key(g.Benchmark, d.BaseCell)]
			if unproven := transportOf(result.TransportUnproven, base, head); unproven.reason != "" {
				d.Warnings = append(d.Warnings, unproven.reason)
			}
		}
	}
}
