package reports

import (
	"fmt"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// outcome counts the requests of a cell on two sides, at least one of which failed some.
type outcome struct {
	cell           comparedCell
	side, against  int
	sent, failed   int // of the side
	sentA, failedA int // of the side that it is compared with
	// p and better are one-sided p values of Fisher's exact test: p for the side failing more requests, better for it
	// failing fewer.
	p, better float64
}

// failsMore reports whether the side fails significantly more requests than the other.
func (o outcome) failsMore() bool  { return o.p < significant }
func (o outcome) failsFewer() bool { return o.better < significant }

const significant = 0.05

// outcomes returns the outcomes of all cells and sides in which requests failed. A table of successful requests hides
// them, and slow requests are the first to fail.
func outcomes(cells []comparedCell, sides []Side) []outcome {
	var out []outcome
	for _, c := range cells {
		for i := range sides {
			if i == 0 || c.sides[i] == nil || c.sides[sides[i].Against] == nil {
				continue
			}
			o := outcome{cell: c, side: i, against: sides[i].Against}
			o.sent, o.failed = requestsOf(c.sides[i])
			o.sentA, o.failedA = requestsOf(c.sides[o.against])
			if o.failed+o.failedA == 0 || o.sent == 0 || o.sentA == 0 {
				continue
			}
			o.p, o.better = 1, 1
			if p, err := gates.FisherExact(o.failed, o.sent, o.failedA, o.sentA); err == nil {
				o.p = p
			}
			if p, err := gates.FisherExact(o.failedA, o.sentA, o.failed, o.sent); err == nil {
				o.better = p
			}
			out = append(out, o)
		}
	}
	return out
}

// requestsOf counts the requests of a cell and the failed ones among them.
func requestsOf(c *result.Cell) (sent, failed int) {
	for _, r := range c.Current() {
		if r.Status == result.RunOK || r.Status == result.RunFailed {
			sent, failed = sent+r.Sent, failed+min(r.Failed, r.Sent)
		}
	}
	return sent, failed
}

// lostRequests lists the outcomes, significant ones first.
func (c *compared) lostRequests() model.Section {
	s := model.Section{Title: model.Plain("Requests that failed")}
	for _, significantly := range []bool{true, false} {
		for _, o := range c.found {
			if (o.failsMore() || o.failsFewer()) == significantly {
				s.Notes = append(s.Notes, o.line(c.first, c.sides))
			}
		}
	}
	return s
}

func (o outcome) line(v *view, sides []Side) model.Line {
	a, b := sides[o.against].Title(o.against), sides[o.side].Title(o.side)
	text := fmt.Sprintf("%d of %d requests of %s failed, %d of %d of %s", o.failed, o.sent, b, o.failedA, o.sentA, a)
	switch {
	case o.failsMore():
		text += fmt.Sprintf(": %s fails more (%s), a regression whatever the latencies are, which are those of requests that succeeded", b,
			pText(o.p))
	case o.failsFewer():
		text += fmt.Sprintf(": %s fails fewer (%s)", b, pText(o.better))
	default:
		text += ": no difference that chance does not make"
	}
	if name := v.valuesName(o.cell.sides[0].Values); name != "" {
		return model.Join(": ", model.Code(name), model.Plain(text))
	}
	return model.Plain(text)
}

func pText(p float64) string {
	if p < 0.0001 {
		return "p < 0.0001"
	}
	return fmt.Sprintf("p = %.4f", p)
}
