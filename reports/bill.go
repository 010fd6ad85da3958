package reports

import (
	"fmt"
	"slices"
	"time"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// bill is what the verdict cost, in one line: "Cost of the verdict: 1.3 GPU-hours, 3.25 USD; 62 %
// of it was not measuring (start-up 55 %)". Where some gates were decided earlier than others,
// it names what each took, as long as there are few.
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

// shownBeside is from how many seconds on something took time that is not in the bill: below it images were
// just found where they should be.
const shownBeside = 1

func durationOf(seconds float64) string {
	return humanize.Duration(time.Duration(seconds * float64(time.Second)))
}

// machines says what the gates' decisions are about where repeats took machines in turn.
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

// earlierGates are those that had their verdict for less than all.
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

// gateCost are the repeats after which a gate had its verdict, and what was spent until then.
func (v *view) gateCost(g *result.Gate) []model.Line {
	i := slices.IndexFunc(v.doc.Bill.Gates, func(of result.GateBill) bool { return of.Gate == g.Addr })
	if i < 0 {
		return []model.Line{model.Plain(humanize.None), model.Plain(humanize.None)}
	}
	of := v.doc.Bill.Gates[i]
	return []model.Line{model.Plain(humanize.Count(of.Repeats, "repeat")), model.Plain(v.spent(of.Spent))}
}

// spent is "1.3 GPU-hours, 3.25 USD".
func (v *view) spent(s result.Spent) string {
	text := s.Hours().Text()
	if s.Amount != nil && v.doc.Price != nil {
		text += ", " + humanize.Money(*s.Amount, v.doc.Price.Currency)
	}
	return text
}

// wholePercent is a share without digits behind the point.
func wholePercent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
