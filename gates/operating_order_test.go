package gates_test

import (
	"math"
	"slices"

	"github.com/servegate/pipeline/gates"
)

// drawnOrder returns which repeats begin with the head, as package plan draws it: each repeat by itself, and the first
// four again while they have one order alone.
func (s *simulator) drawnOrder(repeats int) []bool {
	for {
		out := make([]bool, repeats)
		for k := range out {
			out[k] = s.rng.IntN(2) == 1
		}
		if early := out[:min(4, repeats)]; slices.Contains(early, true) && slices.Contains(early, false) {
			return out
		}
	}
}

// mirroredOrder is base, head, head, base and so on.
func (s *simulator) mirroredOrder(repeats int) []bool {
	out := make([]bool, repeats)
	for k := range out {
		out[k] = k%2 == 1
	}
	return out
}

// disturbance is what befalls a machine in the course of a session.
type disturbance struct {
	label string
	cv    float64 // of a run, beside the disturbance
	// turns is the number of turns that each launch takes, as the sides of a repeat do that stay loaded; machines take
	// the repeats in turn.
	turns, machines int
	// draw returns how much slower a run is, as a logarithm, by the number of its place in the session.
	draw func(s *simulator, places int) func(place int) float64
}

// drifting is a machine that becomes slower at a constant rate.
func drifting(over float64) func(*simulator, int) func(int) float64 {
	return func(_ *simulator, places int) func(int) float64 {
		return func(i int) float64 { return drifted(i, places/2, over) }
	}
}

// hourly is a job of 6 minutes that begins every hour and costs 30 %, in runs of some minutes.
func hourly(minutes float64) func(*simulator, int) func(int) float64 {
	const every, long, cost = 60, 6, 0.3
	return func(s *simulator, _ int) func(int) float64 {
		phase := every * s.rng.Float64()
		return func(i int) float64 {
			from, to, beside := float64(i)*minutes, float64(i+1)*minutes, 0.0
			for begin := phase - every + every*math.Floor(from/every); begin < to; begin += every {
				beside += max(0, min(begin+long, to)-max(begin, from))
			}
			return math.Log1p(cost * beside / minutes)
		}
	}
}

// correlated is the noise of consecutive runs of an autoregressive machine.
func correlated(phi, cv float64) func(*simulator, int) func(int) float64 {
	return func(s *simulator, places int) func(int) float64 {
		x := make([]float64, places)
		for i := range x {
			x[i] = s.rng.NormFloat64()
			if i > 0 {
				x[i] = phi*x[i-1] + math.Sqrt(1-phi*phi)*x[i]
			}
		}
		return func(i int) float64 { return cv * x[i] }
	}
}

// disturbed is a file of 12 repeats on a disturbed machine. Its first metric has a shift.
func (s *simulator) disturbed(d disturbance, order []bool, members int, shift float64) gates.Family {
	turns, machines := max(d.turns, 1), max(d.machines, 1)
	slower := make([]func(int) float64, machines)
	for i := range slower {
		slower[i] = d.draw(s, 2*turns*len(order))
	}
	between := make([]float64, len(order)) // what the disturbance adds to the difference
	for k, headFirst := range order {
		for turn := range turns {
			at := 2 * (k*turns + turn)
			first, second := slower[k%machines](at), slower[k%machines](at+1)
			if headFirst != (turn%2 == 1) {
				first, second = second, first
			}
			between[k] += (second - first) / float64(turns)
		}
	}
	f := gates.Family{Alpha: 0.05}
	for i := range members {
		c := s.comparison(i, len(order), 0, 0)
		own := 0.0
		if i == 0 {
			own = shift
		}
		for k := range c.Pairs {
			d := own + between[k] + d.cv*(s.rng.NormFloat64()-s.rng.NormFloat64())/math.Sqrt(float64(turns))
			c.Pairs[k] = gates.Pair{Repeat: k, Base: 1, Head: math.Exp(worseIs(c.Metric) * d)}
		}
		f.Comparisons = append(f.Comparisons, c)
	}
	return f
}

// ordersOfSides compares the drawn order with a mirrored one where the machine is disturbed in the course of a session.
func ordersOfSides() chart {
	c := chart{
		title: "**The order of the sides** is drawn for each repeat. Beside it, the same files in a mirrored order (base, head, head, base and " +
			"so on). Margin 5 %. The job begins at any time, and a run that it overlaps is slower by 30 % for that time. CV is that of a run " +
			"beside the disturbance.",
		columns: []string{"the machine", "one metric, no change: regression", "20 metrics, no change: regression",
			"one metric at the margin: it passes", "10 % slower: found", "mirrored, no change: regression", "mirrored, at the margin: it passes"},
		checked: fewFiles,
	}
	margin, slow := math.Log(1.05), math.Log(1.10)
	for _, d := range []disturbance{
		{label: "nothing but noise, CV 2 %", cv: 0.02, draw: drifting(0)},
		{label: "becomes 4 % slower over 12 repeats, CV 1 %", cv: 0.01, draw: drifting(0.04)},
		{label: "becomes 24 % slower over 12 repeats, CV 1 %", cv: 0.01, draw: drifting(0.24)},
		{label: "a job of 6 minutes every hour, launches of 15 minutes, CV 1 %", cv: 0.01, draw: hourly(15)},
		{label: "a job of 6 minutes every hour, launches of 15 minutes, CV 2 %", cv: 0.02, draw: hourly(15)},
		{label: "a job of 6 minutes every hour, launches of 30 minutes, CV 1 %", cv: 0.01, draw: hourly(30)},
		{label: "a job of 6 minutes every hour, launches of 45 minutes, CV 1 %", cv: 0.01, draw: hourly(45)},
		{label: "the same job, 2 machines in turn, launches of 15 minutes, CV 1 %", cv: 0.01, machines: 2, draw: hourly(15)},
		{label: "the same job, sides stay loaded, 2 passes of 15 minutes, CV 1 %", cv: 0.01, turns: 2, draw: hourly(15)},
		{label: "consecutive launches correlated by 0.3, CV 2 %", draw: correlated(0.3, 0.02)},
		{label: "consecutive launches correlated by 0.5, CV 2 %", draw: correlated(0.5, 0.02)},
		{label: "consecutive launches correlated by 0.7, CV 2 %", draw: correlated(0.7, 0.02)},
	} {
		sc := func(what string, members int, shift float64, order func(*simulator, int) []bool) *scenario {
			return looked("order, "+what+", "+d.label, func(s *simulator) gates.Family {
				return s.disturbed(d, order(s, 12), members, shift)
			})
		}
		drawn, mirrored := (*simulator).drawnOrder, (*simulator).mirroredOrder
		c.lines = append(c.lines, line{d.label, []cell{
			{sc("no change", 1, 0, drawn), isRed, atMostPercent(5)}, {sc("no change in 20", 20, 0, drawn), isRed, atMostPercent(5)},
			{sc("at the margin", 1, margin, drawn), isPassed, atMostPercent(5)}, {sc("10 %", 1, slow, drawn), isFound, bound{}},
			{sc("mirrored, no change", 1, 0, mirrored), isRed, bound{}}, {sc("mirrored, at the margin", 1, margin, mirrored), isPassed, bound{}},
		}})
	}
	return c
}
