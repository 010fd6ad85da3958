package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// bill returns the cost of the verdict in one line: "Cost: 1.3 GPU-hours, 3.25 USD; 38 % of it measuring, 55 %
// starting servers". It names the cost of up to three gates that were decided for less than the total.
func (v *view) bill() model.Line {
	b := v.doc.Bill
	if b == nil {
		return nil
	}
	title := "Cost"
	if v.doc.Simulated != "" {
		title = "Cost in the model"
	}
	text := title + ": " + v.spent(b.Spent)
	if b.MeasuredShare+b.StartShare > 0 {
		text += fmt.Sprintf("; %s of it measuring, %s starting servers", wholePercent(b.MeasuredShare), wholePercent(b.StartShare))
	}
	text += v.earlierGates(b)
	if b.ImagesSeconds >= shownBeside {
		text += fmt.Sprintf("; images took %s before the first launch, which is not in it", durationOf(b.ImagesSeconds))
	}
	if p := v.doc.Profile; p != nil && p.Spent != nil {
		text += "; the profile took " + v.spent(*p.Spent) + " more"
	}
	return model.Plain(text)
}

// shortBill returns the cost without its shares: "1.3 GPU-hours, 3.25 USD".
func (v *view) shortBill() model.Line {
	if v.doc.Bill == nil {
		return nil
	}
	return model.Plain(v.spent(v.doc.Bill.Spent))
}

// shownBeside is the time in seconds from which the time for images is shown. Below it, the images were already
// present.
const shownBeside = 1

func durationOf(seconds float64) string {
	return humanize.Duration(time.Duration(seconds * float64(time.Second)))
}

// machines states what population of machines the decisions apply to. It returns nil unless repeats used several
// machines in turn.
func (v *view) machines() model.Line {
	m := v.doc.Machines
	switch {
	case m == nil:
		return nil
	case m.Between == 0:
		return model.Plain(fmt.Sprintf("On %d machines in turn, each repeat on one: decisions are about the mean over these", m.Count))
	}
	return model.Plain(fmt.Sprintf("On %d machines in turn, each repeat on one: decisions are about all like these, where what a change "+
		"does has a standard deviation of %.3g %% between machines", m.Count, 100*m.Between))
}

// earlierGates names the gates that were decided for less than the total cost.
func (v *view) earlierGates(b *result.Bill) string {
	const most = 3
	text, shown := "", 0
	for _, g := range b.Gates {
		i := slices.IndexFunc(v.gates, func(of *result.Gate) bool { return of.Addr == g.Gate })
		if i < 0 || g.Spent.MachineHours >= b.Spent.MachineHours {
			continue
		}
		if shown++; shown > most {
			return text + "; others too"
		}
		text += fmt.Sprintf("; %s (%s) took %s", model.ShortAddr(g.Gate), v.gates[i].Verdict, v.spent(g.Spent))
	}
	return text
}

// gateCost returns the number of repeats after which a gate was decided, and the cost until then.
func (v *view) gateCost(g *result.Gate) []model.Line {
	i := slices.IndexFunc(v.doc.Bill.Gates, func(of result.GateBill) bool { return of.Gate == g.Addr })
	if i < 0 {
		return []model.Line{model.Plain(humanize.None), model.Plain(humanize.None)}
	}
	of := v.doc.Bill.Gates[i]
	return []model.Line{model.Plain(humanize.Count(of.Repeats, "repeat")), model.Plain(v.spent(of.Spent))}
}

// spent formats a cost: "1.3 GPU-hours, 3.25 USD".
func (v *view) spent(s result.Spent) string {
	text := s.Hours().Text()
	if s.Amount != nil && v.doc.Price != nil {
		text += ", " + humanize.Money(*s.Amount, v.doc.Price.Currency)
	}
	return text
}

// wholePercent formats a share as a percentage without decimals.
func wholePercent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
