package gates_test

import (
	"math"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// runsOf returns the times, sides and values of the runs of a disturbed session, in minutes.
func (s *simulator) runsOf(d disturbance, minutes, difference float64) (at []float64, side []int, values []float64) {
	slower := d.draw(s, 24)
	for k, headFirst := range s.drawnOrder(12) {
		for turn := range 2 {
			head := headFirst == (turn == 0)
			place := 2*k + turn
			x := slower(place) + d.cv*s.rng.NormFloat64()
			if head {
				x += difference
				side = append(side, 1)
			} else {
				side = append(side, 0)
			}
			at, values = append(at, minutes*float64(place)), append(values, x)
		}
	}
	return at, side, values
}

func TestCycleOfAnHourlyJob(t *testing.T) {
	s := newSimulator(11)
	at, side, values := s.runsOf(disturbance{cv: 0.01, draw: hourly(15)}, 15, 0.08)
	c, ok := gates.FindCycle(at, side, values)
	if !ok || c.P > gates.CycleLevel || math.Abs(c.Period-60) > 5 || c.Swing < 0.05 || c.Swing > 0.2 {
		t.Errorf("an hourly job is %+v, %v", c, ok)
	}
}

// Drift and the difference of the sides are no cycle, nor is what has no spread or too few runs.
func TestNoCycle(t *testing.T) {
	var at, values []float64
	var side []int
	for i := range 24 {
		at, side, values = append(at, float64(i)), append(side, i%3%2), append(values, 0.01*float64(i)+0.3*float64(i%3%2))
	}
	if c, ok := gates.FindCycle(at, side, values); ok && c.P < 0.01 {
		t.Errorf("a drift is %+v", c)
	}
	if c, ok := gates.FindCycle(at[:7], side[:7], values[:7]); ok {
		t.Errorf("seven runs have %+v", c)
	}
	// The best of all periods that are tried is not taken for the only one.
	s, named := newSimulator(3), 0
	for range 400 {
		for i := range values {
			values[i] = s.rng.NormFloat64()
		}
		if c, ok := gates.FindCycle(at, side, values); ok && c.P <= 0.05 {
			named++
		}
	}
	atMost(t, "cycles of noise", named, 400, 0.05)
	if c, ok := gates.FindCycle(at[:7], side[:7], values[:7]); ok {
		t.Errorf("seven runs have %+v", c)
	}
	if c, ok := gates.FindCycle(make([]float64, 24), side, values); ok {
		t.Errorf("runs at one time have %+v", c)
	}
}

// cycles simulates what is said of periods in the times of runs.
func cycles() chart {
	c := chart{
		title: "**Periods that reports name**: sessions of 24 runs of one metric, in which a period is seen at 1 %. The head is 8 % slower in the " +
			"third column. CV is that of a run beside the disturbance.",
		columns: []string{"the machine", "no change: a period is named", "8 % slower: a period is named"},
	}
	for _, tt := range []struct {
		disturbance
		minutes     float64
		most, least float64
	}{
		{disturbance{label: "nothing but noise", cv: 0.02, draw: drifting(0)}, 15, 1, 0},
		{disturbance{label: "becomes 24 % slower over 12 repeats, CV 1 %", cv: 0.01, draw: drifting(0.24)}, 15, 1, 0},
		{disturbance{label: "a job of 6 minutes every hour, launches of 15 minutes, CV 1 %", cv: 0.01, draw: hourly(15)}, 15, 0, 80},
		{disturbance{label: "a job of 6 minutes every hour, launches of 15 minutes, CV 2 %", cv: 0.02, draw: hourly(15)}, 15, 0, 0},
		{disturbance{label: "a job of 6 minutes every hour, launches of 30 minutes, CV 1 %", cv: 0.01, draw: hourly(30)}, 30, 0, 80},
		{disturbance{label: "a job of 6 minutes every hour, launches of 45 minutes, CV 1 %", cv: 0.01, draw: hourly(45)}, 45, 0, 0},
		{disturbance{label: "consecutive launches correlated by 0.7, CV 2 %", draw: correlated(0.7, 0.02)}, 15, 0, 0},
	} {
		sc := func(difference float64) *scenario {
			name := "no change"
			if difference > 0 {
				name = "slower"
			}
			return &scenario{"cycle, " + name + ", " + tt.label, func(s *simulator) (ending, error) {
				found, ok := gates.FindCycle(s.runsOf(tt.disturbance, tt.minutes, difference))
				return ending{right: ok && found.P <= gates.CycleLevel}, nil
			}}
		}
		promise := bound{least: tt.least, most: tt.most}
		c.lines = append(c.lines, line{tt.label, []cell{{sc(0), ending.isRight, promise}, {sc(math.Log(1.08)), ending.isRight, promise}}})
	}
	return c
}
