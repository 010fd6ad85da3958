package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// Lanes are parts of one machine on which repeats run side by side.
type Lanes struct {
	List []steps.LaneSpec `json:"list"`
	// Interference is how much slower a lane may be while the others are busy, as a share; absent where
	// it is half of the margin of each gate. Passes of the check are at most that.
	Interference float64 `json:"interference,omitempty"`
	Passes       int     `json:"passes"`
	// LeastPasses show something.
	LeastPasses int `json:"least_passes"`
	// OneLane has repeats come one after another, each in its lane, where lanes slow each other; else the run ends
	// there. A resumed run need not find it unchanged.
	OneLane bool `json:"one_lane,omitempty"`
	// Check is what seeing that takes at most.
	Check Extra `json:"check"`
}

// lanes is what of Lanes a resumed run must find unchanged: what the check costs is an estimate.
type lanes struct {
	List         []steps.LaneSpec
	Interference float64
	Passes       int
}

func (l *Lanes) fixed() *lanes {
	if l == nil {
		return nil
	}
	return &lanes{l.List, l.Interference, l.Passes}
}

// Beside is how many others have the machine together with each launch of a round.
func (p *Plan) Beside(round []Repeat) int {
	if p.Lanes == nil {
		return 0
	}
	return len(round) - 1
}

// Looks are the numbers of passes after which the check of lanes is judged.
func (l *Lanes) Looks() gates.Looks { return gates.LooksBetween(l.LeastPasses, l.Passes) }

// lanePasses sets how often each cell is measured in the check of lanes: as often at least as repeats show something,
// an even number, and so that each lane of a target has its turn alone.
func (b *builder) lanePasses(p *Plan) {
	l := p.Lanes
	l.LeastPasses = 4
	for _, launches := range p.LaneCheck() {
		of := map[string]int{}
		for _, launch := range launches {
			of[launch.Target]++
			l.LeastPasses = max(l.LeastPasses, of[launch.Target]+of[launch.Target]%2)
		}
	}
	if l.Passes == 0 {
		l.Passes = 2 * l.LeastPasses
	}
	if l.Passes < l.LeastPasses {
		b.fail(b.cfg.Settings.LanesRange, fmt.Sprintf("passes must be %d or more", l.LeastPasses), fmt.Sprintf("It is %d, and fewer show nothing of %d lanes.", l.Passes, len(l.List)))
		l.Passes = l.LeastPasses
	}
	l.Check = p.laneCheck(l.Passes)
}

// defaultMargin is that of metrics which no gate compares, and of those that it compares by any change at all.
const defaultMargin metric.Margin = 0.05

// LaneMetric is a metric in which lanes must not slow each other, by Limit or more.
type LaneMetric struct {
	metric.Metric
	Limit metric.Margin
}

// LaneMetrics are those by which gates compare a cell with another, as far as a run has them by itself;
// TTFT and TPOT where none does.
func (p *Plan) LaneMetrics(cell string) []LaneMetric {
	var out []LaneMetric
	add := func(id string, margin metric.Margin) {
		m, ok := p.Metric(id)
		if !ok || m.Scale != metric.Log || m.Level != metric.RunLevel || m.Mutual || m.Quality {
			return
		}
		limit := cmp.Or(margin, defaultMargin) / 2
		if p.Lanes.Interference > 0 {
			limit = metric.Margin(p.Lanes.Interference)
		}
		i := slices.IndexFunc(out, func(o LaneMetric) bool { return o.ID == id })
		if i < 0 {
			out = append(out, LaneMetric{m, limit})
			return
		}
		out[i].Limit = min(out[i].Limit, limit)
	}
	for _, g := range p.Gates {
		if !slices.ContainsFunc(g.Comparisons, func(c Comparison) bool { return c.Base == cell || c.Head == cell }) {
			continue
		}
		for _, id := range g.Metrics {
			add(id, g.Margin)
		}
	}
	if len(out) == 0 {
		add("ttft.mean", defaultMargin)
		add("tpot.mean", defaultMargin)
	}
	return out
}

// laneSettings are the lanes of the file; nil where repeats come one after another. Replacements of
// servers as processes do not need what the file reserves for the real ones.
func (b *builder) laneSettings(p *Plan) *Lanes {
	s := b.cfg.Settings.Lanes
	if s == nil || p.Simulated != "" && p.Simulated != SimulateVirtual {
		return nil
	}
	repeats := 0
	for _, bm := range p.Benchmarks {
		repeats = max(repeats, bm.RepeatMax)
	}
	if repeats < 2 || !b.inLanes(p, s) {
		return nil // one repeat runs alone
	}
	return &Lanes{List: s.Lanes[:min(len(s.Lanes), repeats)], Interference: s.Interference, Passes: s.Passes, OneLane: s.OnInterference == steps.InterferenceOneLane}
}

// inLanes reports whether all targets can be launched in each lane, and says why not.
func (b *builder) inLanes(p *Plan, lanes *steps.LanesSpec) bool {
	at := b.cfg.Settings.LanesRange
	if !b.ownMeasures(p, at, "lanes need") {
		return false
	}
	for _, t := range p.Targets {
		gpus := 0
		for _, server := range b.cfg.ServersOf(t.Addr) {
			s := server.Spec
			gpus += s.GPUs
			switch {
			case s.URL != "":
				b.fail(at, "lanes need servers that are launched", fmt.Sprintf("%s answers at %s, and all lanes would share it. Leave the lanes out, or have the servers launched.", s.Addr, s.URL))
				return false
			case s.Port != 0:
				b.fail(server.Range, "lanes need servers without a port of their own", fmt.Sprintf("%s would listen on port %d once in each lane. Leave its port out.", s.Addr, s.Port))
				return false
			}
		}
		d := b.cfg.DeploymentAt(t.Addr)
		if d != nil && d.Spec.Router != nil && d.Spec.Router.Port != 0 {
			b.fail(at, "lanes need routers without a port of their own", fmt.Sprintf("The routers of %s would all listen on port %d. Leave the router's port out.", t.Addr, d.Spec.Router.Port))
			return false
		}
		for i, lane := range lanes.Lanes {
			if gpus > len(lane.GPUs) && p.Simulated == "" {
				b.fail(at, fmt.Sprintf("lane %d has too few GPUs", i), fmt.Sprintf("%s takes %s, and the lane has %d.", t.Addr, humanize.Count(gpus, "GPU"), len(lane.GPUs)))
				return false
			}
		}
	}
	return true
}

// ownMeasures reports whether all measures are of what one repeat launches, and says why not: an exporter
// counts what all repeats do that run side by side, so that base and head would show the same.
func (b *builder) ownMeasures(p *Plan, at hcl.Range, need string) bool {
	for _, m := range p.Measures {
		if m.Source == steps.MeasureURL {
			b.fail(at, need+" measures of the servers themselves",
				fmt.Sprintf("%s reads %s, which counts what all repeats do that run side by side, the other sides included. Measure the servers or the router, or let repeats come one after another.", m.ID(), m.URL))
			return false
		}
	}
	return true
}

// InOneLane is the plan with its repeats one after another, each in its lane.
func (p *Plan) InOneLane() *Plan {
	one := *p
	one.Lanes = nil
	one.Estimate = estimate(&one)
	return &one
}

// LaneCheck is what lanes launch at the same time so that they can be seen to be busy: what they begin with in
// the first round, and what comes later there that was not among it, so that each target has the neighbours
// that it will have.
func (p *Plan) LaneCheck() [][]Launch {
	rounds := p.Rounds()
	if len(rounds) == 0 {
		return nil
	}
	var out [][]Launch
	checked := map[string]bool{}
	for turn := 0; ; turn++ {
		var launches []Launch
		further := false
		for _, rep := range rounds[0] {
			if turn == len(rep.Launches) {
				return out
			}
			launches = append(launches, p.checked(rep.Launches[turn], rep.Lane))
			further = further || !checked[rep.Launches[turn].Target]
		}
		if !further {
			continue
		}
		out = append(out, launches)
		for _, l := range launches {
			checked[l.Target] = true
		}
	}
}

// checked is a launch in the check of lanes, with each of its cells once. Answers and evaluations are not
// measured in time.
func (p *Plan) checked(of Launch, lane int) Launch {
	l := Launch{ID: fmt.Sprintf("lane%d-%s", lane, of.Target), Target: of.Target}
	for _, run := range of.Runs {
		_, cell, _ := p.Cell(run.Cell)
		if run.Pass <= 1 && cell.Workload.Answers == nil && cell.evaluation() == nil {
			l.Runs = append(l.Runs, run)
		}
	}
	return l
}

// laneCheck is what the check of lanes takes with so many passes.
func (p *Plan) laneCheck(passes int) Extra {
	var sum Extra
	for _, launches := range p.LaneCheck() {
		of := p.checkOf(launches, passes)
		sum = Extra{sum.Launches + of.Launches, sum.Seconds + of.Seconds, sum.MachineHours + of.MachineHours, sum.GPUHours + of.GPUHours}
	}
	return sum
}

// checkOf is what it takes to check launches beside each other: all servers are started at once,
// and in each pass one lane of each target measures alone, and all of them together.
func (p *Plan) checkOf(launches []Launch, passes int) Extra {
	once := map[string]float64{} // by target
	start := 0.0
	for _, l := range launches {
		once[l.Target] = 0
		for _, run := range l.Runs {
			_, cell, _ := p.Cell(run.Cell)
			once[l.Target] += cell.Seconds / p.TimeScale
		}
		start = max(start, p.Target(l.Target).StartSeconds)
	}
	pass, together := 0.0, 0.0
	for _, alone := range once {
		pass += alone
		together = max(together, alone)
	}
	out := Extra{Launches: len(launches), Seconds: start + float64(passes)*(pass+together)}
	for _, l := range launches {
		spent := p.Target(l.Target).OfLaunch(out.Seconds)
		out.GPUHours += spent.GPUHours
		out.MachineHours = max(out.MachineHours, spent.MachineHours)
	}
	return out
}

// lanesText describes what lanes save, and what it takes to see that they may. "" without lanes.
func (p *Plan) lanesText() string {
	if p.Lanes == nil || p.lanes() < 2 {
		return ""
	}
	e, least := p.Estimate, p.laneCheck(p.Lanes.LeastPasses)
	took := span(Duration(least.Seconds), Duration(p.Lanes.Check.Seconds))
	text := fmt.Sprintf("%d repeats at a time, each with its sides in one lane: saves %s of %s of the machine, and no GPU time; before them, %s to see that lanes slow each other by less than %s%s",
		p.lanes(), Duration(e.Sequential-e.Seconds), Duration(e.Sequential), took, p.Lanes.limitText(), p.checkBill(least))
	if p.Lanes.OneLane {
		one := p.InOneLane().Estimate
		text += "; where that is not shown, repeats come one after another: " + p.extraText(&Extra{Seconds: one.Seconds, MachineHours: one.MachineHours, GPUHours: one.GPUHours})
	}
	return text
}

// checkBill is what the check of lanes holds beside the repeats, of which alone the bill is:
// "; on top of the bill, 4.3 to 8.3 GPU-hours; 10.73 to 20.73 USD".
func (p *Plan) checkBill(least Extra) string {
	most := p.Lanes.Check
	hours, unit := [2]float64{least.GPUHours, most.GPUHours}, "GPU-hours"
	if most.GPUHours == 0 {
		hours, unit = [2]float64{least.MachineHours, most.MachineHours}, "machine-hours"
	}
	if hours[1] == 0 {
		return ""
	}
	text := "; on top of the bill, " + span(humanize.Hours(hours[0]), humanize.Hours(hours[1])) + " " + unit
	if p.Price != nil {
		money := func(e Extra) string { return humanize.Money(p.Price.Of(e.MachineHours, e.GPUHours), p.Price.Currency) }
		text += "; " + span(money(least), money(most))
	}
	return text
}

// span is "from to to", or one of them where they are equal.
func span(from, to string) string {
	if from == to {
		return to
	}
	return from + " to " + to
}

func (l *Lanes) limitText() string {
	if l.Interference == 0 {
		return "half of the margins of the gates"
	}
	return fmt.Sprintf("%.3g %%", 100*l.Interference)
}

// laneWarnings warn of lanes that cost more than they save.
func (p *Plan) laneWarnings() []string {
	if p.Lanes == nil || p.lanes() < 2 {
		return nil
	}
	var out []string
	if saved, check := p.Estimate.Sequential-p.Estimate.Seconds, p.laneCheck(p.Lanes.LeastPasses).Seconds; check >= saved {
		out = append(out, fmt.Sprintf("lanes save %s, and seeing that they do not slow each other takes %s or more: leave the lanes out, or measure more repeats", Duration(saved), Duration(check)))
	}
	if n, least := p.Budget.inOneLane(); n < least {
		out = append(out, fmt.Sprintf("the budget buys %s one after another, and no gate can decide before %d: the run ends with its check where that does not show that lanes leave each other alone", humanize.Count(n, "repeat"), least))
	}
	if !slices.ContainsFunc(p.Gates, Gate.paired) {
		out = append(out, "no gate compares sides, so that nothing says which metrics lanes must not change: TTFT and TPOT are looked at")
	}
	return out
}
