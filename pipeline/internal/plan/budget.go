package plan

import (
	"fmt"
	"math"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// Budget limits what a run spends. Zero means no limit. A resumed run may have another budget.
type Budget struct {
	GPUHours float64 `json:"gpu_hours,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
	Amount   float64 `json:"amount,omitempty"` // in the currency of the price
	// Repeats is the most that the file asks for, if the budget buys fewer.
	Repeats int `json:"repeats,omitempty"`
}

// Spending is the time and the machine time that were or will be spent.
type Spending struct {
	result.Hours
	Seconds float64
}

// Plus returns the sum of two spendings, one after the other.
func (s Spending) Plus(more Spending) Spending {
	return Spending{s.Hours.Plus(more.Hours), s.Seconds + more.Seconds}
}

// OfLaunch returns what a launch of a target spends in a number of seconds.
func (t Target) OfLaunch(seconds float64) Spending {
	if t.Attached {
		return Spending{Seconds: seconds}
	}
	return Spending{result.HeldFor(seconds, t.Machines, t.GPUs), seconds}
}

// limit is one bound of a budget.
type limit struct {
	name string
	// most is the bound. of returns what a spending takes of it.
	most float64
	of   func(Spending) float64
	text func(amount float64) string
}

// limits returns the bounds that a budget sets.
func (b *Budget) limits(price *result.Price) []limit {
	var out []limit
	add := func(l limit) {
		if l.most > 0 {
			out = append(out, l)
		}
	}
	add(limit{"gpu_time", b.GPUHours, func(s Spending) float64 { return s.GPUHours },
		func(x float64) string { return humanize.Hours(x) + " GPU-hours" }})
	add(limit{"time", b.Seconds, func(s Spending) float64 { return s.Seconds }, Duration})
	if price != nil {
		add(limit{"cost", b.Amount, func(s Spending) float64 { return price.Of(s.Hours) },
			func(x float64) string { return humanize.Money(x, price.Currency) }})
	}
	return out
}

// Exceeded returns the first bound of the budget that a spending exceeds, "" if it exceeds none.
func (p *Plan) Exceeded(s Spending) string {
	if p.Budget == nil {
		return ""
	}
	for _, l := range p.Budget.limits(p.Price) {
		if l.of(s) > l.most*(1+rounding) {
			return l.text(l.most)
		}
	}
	return ""
}

// rounding is the relative tolerance at the bounds of a budget.
const rounding = 1e-9

// budget returns the file's budget, nil if it has none.
func (b *builder) budget() *Budget {
	s := b.cfg.Settings.Budget
	if s == nil {
		return nil
	}
	return &Budget{GPUHours: s.GPUTime.Hours(), Seconds: s.Time.Seconds(), Amount: s.Cost.Value}
}

// fit cuts the repeats of a plan to those that its budget buys, so that no part of alpha is reserved for looks
// that cannot be paid for. It refuses a budget with which no gate can decide. It does not change the plan if
// the start-up time of servers is unknown, or if none is launched on a machine.
func (b *builder) fit(p *Plan) {
	if p.Budget = b.budget(); p.Budget == nil || len(p.Repeats) == 0 {
		return
	}
	at := b.cfg.Settings.BudgetRange
	if p.Budget.GPUHours > 0 && p.Estimate.GPUHours == 0 && p.Estimate.MachineHours > 0 {
		b.fail(at, "gpu_time needs servers with gpus", "No server of the file states its number of gpus, so that none of the budget is ever "+
			"spent. Set gpus of the servers, or bound the time.")
		return
	}
	if p.Budget.Amount > 0 && p.unpriced() != "" {
		b.fail(at, "cost needs a price that charges something", "None of the budget is ever spent: "+p.unpriced()+".")
		return
	}
	if p.Estimate.UnknownStarts > 0 {
		return
	}
	most := len(p.Repeats)
	n := most
	for n > 0 && p.Exceeded(p.upTo(n).spending()) != "" {
		n--
	}
	least := most
	for i := p.least(); i < most; i++ {
		if b.decides(p.upTo(i)) {
			least = i
			break
		}
	}
	if n < least {
		b.refuseBudget(p, at, least)
		return
	}
	if n < most {
		cut := p.upTo(n)
		p.Benchmarks, p.Repeats, p.Looks, p.Estimate = cut.Benchmarks, cut.Repeats, cut.Looks, cut.Estimate
		p.Budget.Repeats = most
	}
}

// spending returns what the whole plan spends.
func (p *Plan) spending() Spending {
	return Spending{p.Estimate.Hours, p.Estimate.Seconds}
}

// upTo returns the plan with at most n repeats.
func (p *Plan) upTo(n int) *Plan {
	cut := *p
	cut.Benchmarks = slices.Clone(p.Benchmarks)
	for i := range cut.Benchmarks {
		bm := &cut.Benchmarks[i]
		bm.RepeatMin, bm.RepeatMax = min(bm.RepeatMin, n), min(bm.RepeatMax, n)
	}
	cut.Repeats, cut.Looks = schedule(&cut), looks(cut.Benchmarks)
	cut.Estimate = estimate(&cut)
	return &cut
}

// decides reports whether any gate of a plan can decide something. It returns true for a plan without gates
// that compare.
func (b *builder) decides(p *Plan) bool {
	compared := false
	for _, g := range p.Gates {
		if !g.paired() || len(g.Comparisons) == 0 {
			continue
		}
		compared = true
		level := p.Level(g)
		if p.repeatsOf(g.Benchmark) >= 2 && p.undecidable(g, level, b.filling(p, g)) == "" && b.quietEnough(p, g, level) {
			return true
		}
	}
	return !compared
}

// quietEnough reports whether the known noise of a gate's metrics is small enough for the gate to decide.
func (b *builder) quietEnough(p *Plan, g Gate, level float64) bool {
	for _, id := range g.Metrics {
		noise, known := b.worstNoise(g, id, p.PassesOf(g.Benchmark))
		if known && p.checkNoise(g, id, noise.SD(p.PassesOf(g.Benchmark)), level) != nil {
			return false
		}
	}
	return true
}

// refuseBudget reports the smallest budget that decides anything, in each of its bounds.
func (b *builder) refuseBudget(p *Plan, at hcl.Range, least int) {
	needs := p.upTo(least).spending()
	var texts []string
	for _, l := range p.Budget.limits(p.Price) {
		if l.of(needs) > l.most {
			texts = append(texts, fmt.Sprintf("%s = %s would do, and it is %s", l.name, l.text(roundedUp(l.of(needs))), l.text(l.most)))
		}
	}
	b.fail(at, "the budget is too small to decide", fmt.Sprintf("No gate can decide before %s of each side are measured: %s.",
		humanize.Count(least, "repeat"), humanize.List(texts)))
}

// roundedUp rounds a number up to two digits.
func roundedUp(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Ceil(x/unit-rounding) * unit
}

// budgetText describes what the budget buys, "" without one.
func (p *Plan) budgetText() string {
	if p.Budget == nil {
		return ""
	}
	text := ""
	for _, l := range p.Budget.limits(p.Price) {
		if text != "" {
			text += ", "
		}
		text += l.text(l.most)
	}
	switch {
	case p.OverSockets() && p.Budget.Seconds == 0:
		return text + ": simulated processes spend nothing of it"
	case p.Estimate.UnknownStarts > 0:
		return text +
			": how many repeats that buys is not known before servers were started once; the run ends when the next repeat would exceed it"
	case p.Budget.Repeats > 0:
		text += fmt.Sprintf(": buys %d of the %s that the file allows", len(p.Repeats), humanize.Count(p.Budget.Repeats, "repeat"))
	default:
		text += fmt.Sprintf(": buys all %s", humanize.Count(len(p.Repeats), "repeat"))
	}
	return text + "; the run ends earlier where every gate has its verdict, or none is likely to get one"
}
