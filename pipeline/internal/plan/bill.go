package plan

import (
	"fmt"

	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// price returns the file's price, nil if it has none.
func (b *builder) price() *result.Price {
	p := b.cfg.Settings.Price
	if p == nil {
		return nil
	}
	return &result.Price{GPUHour: p.GPUHour, MachineHour: p.MachineHour, Currency: p.Currency}
}

// billText describes how long the plan holds machines: "5.6 GPU-hours at most, 1.9 if all is decided after 4
// repeats; 61 % until servers are ready and warm; 14.00 USD at most, 4.67 USD after 4 repeats". It returns ""
// if nothing is launched on machines.
func (p *Plan) billText() string {
	e := p.Estimate
	if e.MachineHours == 0 {
		return ""
	}
	text := e.Text()
	part, least := 1.0, p.least()
	if len(p.Looks) > 1 && least < len(p.Repeats) {
		part = float64(least) / float64(len(p.Repeats))
		hours, _ := e.Times(part).Main()
		text += fmt.Sprintf(" at most, %s if all is decided after %s", humanize.Hours(hours), humanize.Count(least, "repeat"))
	}
	switch {
	case e.UnknownStarts > 0:
		text += ", without the start of " + humanize.Count(e.UnknownStarts, "launch")
	case e.StartShare > 0:
		text += fmt.Sprintf("; %.0f %% of it until servers are ready and warm", 100*(e.StartShare+e.WarmupShare))
	}
	if p.Price == nil {
		return text
	}
	amount := p.Price.Of(e.Hours)
	text += "; " + humanize.Money(amount, p.Price.Currency)
	if part < 1 {
		text += " at most, " + humanize.Money(part*amount, p.Price.Currency) + " then"
	}
	return text
}

// unpriced returns a warning if the price charges nothing for the plan, else "".
func (p *Plan) unpriced() string {
	if p.Price == nil || p.Estimate.MachineHours == 0 || p.Price.Of(p.Estimate.Hours) > 0 {
		return ""
	}
	if p.Estimate.GPUHours > 0 {
		return "the price of a GPU-hour is zero: nothing is charged"
	}
	return "the price is of GPU-hours, and no server of the file states its number of gpus: nothing is charged; set gpus, or price " +
		"machine_hour"
}

// Extra holds what the profile of a regression takes on top of the repeats.
type Extra struct {
	Launches     int     `json:"launches"`
	Seconds      float64 `json:"seconds"` // at most, without unknown starts
	result.Hours         // that they hold
}

// profile returns what the profile of a regression takes, for the pair of cells that takes longest. It returns
// nil if the file asks for none, or if no such pair is launched on machines.
func (b *builder) profile(p *Plan) *Extra {
	if b.cfg.Settings.Profile == nil {
		return nil
	}
	var most *Spending
	for _, g := range p.Gates {
		for _, c := range g.Comparisons {
			if c.Base == "" {
				continue
			}
			pair := p.ofProfile(c.Base).Plus(p.ofProfile(c.Head))
			if pair.MachineHours > 0 && (most == nil || pair.Seconds > most.Seconds) {
				most = &pair
			}
		}
	}
	if most == nil {
		return nil
	}
	e := &Extra{Launches: 2, Seconds: most.Seconds, Hours: most.Hours}
	if p.OverSockets() {
		e.Hours = result.Hours{}
	}
	return e
}

// ofProfile returns what one launch with one run of a cell takes.
func (p *Plan) ofProfile(hash string) Spending {
	_, cell, _ := p.Cell(hash)
	t := p.Target(cell.Target)
	return t.OfLaunch(t.StartSeconds + cell.Seconds/p.TimeScale)
}

// profileText describes the profile: "2 more launches where a gate regresses, about 3 min; 0.05 GPU-hours; 0.13
// USD".
func (p *Plan) profileText() string {
	e := p.Profile
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%d more launches where a gate regresses, ", e.Launches) + p.extraText(e)
}

// extraText describes how long additional launches take, and what they hold: "about 3 min; 0.05 GPU-hours".
func (p *Plan) extraText(e *Extra) string {
	text := "about " + Duration(e.Seconds)
	if p.Estimate.UnknownStarts > 0 {
		text += ", without the start of servers"
	}
	if e.MachineHours > 0 {
		text += "; " + e.Text()
	}
	if p.Price != nil && e.MachineHours > 0 {
		text += "; " + humanize.Money(p.Price.Of(e.Hours), p.Price.Currency)
	}
	return text
}
