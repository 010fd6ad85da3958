package engine

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/event"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// budgeted is a plan of two sides on 8 GPUs whose launches take 5 minutes of start and 5 of load.
func budgeted(repeats int, budget plan.Budget) *plan.Plan {
	p := &plan.Plan{TimeScale: 1, Budget: &budget, Price: &result.Price{GPUHour: 2, Currency: "USD"}}
	b := plan.Benchmark{Addr: "benchmark.b"}
	for _, side := range []string{"base", "head"} {
		p.Targets = append(p.Targets, plan.Target{Addr: side, GPUs: 8, StartSeconds: 300})
		b.Cells = append(b.Cells, plan.Cell{Hash: side, Target: side, Seconds: 300})
	}
	p.Benchmarks = []plan.Benchmark{b}
	for i := range repeats {
		r := plan.Repeat{Index: i + 1}
		for _, t := range p.Targets {
			r.Launches = append(r.Launches, plan.Launch{ID: fmt.Sprint(i, t.Addr), Target: t.Addr, Runs: []plan.Run{{Cell: t.Addr}}})
		}
		p.Repeats = append(p.Repeats, r)
	}
	p.Estimate.Seconds = float64(repeats) * 1200
	return p
}

// Sessions end within the budget and one launch in at least 99 of 100, though start-up times are
// drawn: lognormal with a spread of 30 %, and one start in 50 takes three times as long. The engine's
// own rule ends them; only the launches are drawn.
func TestSessionsEndWithinTheBudgetAndOneLaunch(t *testing.T) {
	const sessions = 2000
	for name, limit := range map[string]struct {
		budget plan.Budget
		of     func(plan.Spending) float64
		most   float64
	}{
		"GPU time": {plan.Budget{GPUHours: 16}, func(s plan.Spending) float64 { return s.GPUHours }, 16},
		"time":     {plan.Budget{Seconds: 2 * 3600}, func(s plan.Spending) float64 { return s.Seconds }, 2 * 3600},
		"cost":     {plan.Budget{Amount: 32}, func(s plan.Spending) float64 { return 2 * s.GPUHours }, 32},
	} {
		rng := rand.New(rand.NewPCG(7, 7)) //nolint:gosec // a simulation
		within, plusOne, repeats := 0, 0, 0
		for range sessions {
			spent, longest, done := spendOn(t, budgeted(12, limit.budget), rng)
			if limit.of(spent) <= limit.most {
				within++
			}
			if limit.of(spent) <= limit.most+limit.of(longest) {
				plusOne++
			}
			repeats += done
		}
		share := float64(plusOne) / float64(sessions)
		t.Logf("%s: %.1f %% within the budget, %.2f %% within it and one launch, %.2f of 6 repeats on average", name,
			100*float64(within)/float64(sessions), 100*share, float64(repeats)/float64(sessions))
		if share < 0.99 {
			t.Errorf("%s: %.2f %% of sessions end within the budget and one launch, want at least 99 %%", name, 100*share)
		}
		if mean := float64(repeats) / float64(sessions); mean < 4.5 {
			t.Errorf("%s: %.2f repeats on average of the 6 that the budget buys as planned", name, mean)
		}
	}
}

// spendOn goes through the repeats of a plan with launches of drawn length.
func spendOn(t *testing.T, p *plan.Plan, rng *rand.Rand) (spent, longest plan.Spending, repeats int) {
	t.Helper()
	now := time.Unix(0, 0)
	clock := func() time.Time { return now }
	r := newRunner((&Options{Plan: p, Bus: event.NewBus(clock, 0), Now: clock}).withDefaults())
	rounds := p.Rounds()
	for i, round := range rounds {
		if r.outOfBudget(rounds[i:]) {
			if r.out.StoppedBy != result.StoppedBudget || r.early == "" {
				t.Fatalf("stopped by %q because %q", r.out.StoppedBy, r.early)
			}
			break
		}
		for _, l := range round[0].Launches {
			start := 300 * math.Exp(0.3*rng.NormFloat64())
			if rng.IntN(50) == 0 {
				start *= 3
			}
			held := start + 300
			now = now.Add(seconds(held))
			r.out.Launched = append(r.out.Launched, Launched{ID: l.ID, Target: l.Target, Attempts: []result.Launch{{Held: held}}})
			if of := r.plan.Target(l.Target).OfLaunch(held); of.Seconds > longest.Seconds {
				longest = of
			}
		}
		r.out.RepeatsDone++
	}
	return r.spending(), longest, r.out.RepeatsDone
}

// The first repeat is measured whatever it costs, and what a resumed run has done is not asked
// about.
func TestTheFirstRepeatIsMeasuredWhateverItCosts(t *testing.T) {
	p := budgeted(2, plan.Budget{GPUHours: 0.1})
	r := newRunner((&Options{Plan: p, Bus: event.NewBus(time.Now, 0)}).withDefaults())
	if r.outOfBudget(p.Rounds()) {
		t.Error("the first repeat is refused")
	}
	r.out.RepeatsDone = 1
	if !r.outOfBudget(p.Rounds()[1:]) {
		t.Error("the second repeat is not refused")
	}
	for _, l := range p.Repeats[1].Launches {
		r.resumed[l.ID] = Launched{ID: l.ID, Target: l.Target}
	}
	if r.outOfBudget(p.Rounds()[1:]) {
		t.Error("a repeat that was measured before is refused")
	}
}

// After a look the budget is asked for all repeats until the next one, since those before it decide
// nothing; between looks, for one.
func TestABudgetIsAskedUntilTheNextLook(t *testing.T) {
	launches := func(done int) *runner {
		p := budgeted(12, plan.Budget{GPUHours: 14}) // of 2.67 for a repeat
		p.Looks = []int{4, 6, 8, 10, 12}
		r := newRunner((&Options{Plan: p, Bus: event.NewBus(time.Now, 0)}).withDefaults())
		for _, rep := range p.Repeats[:done] {
			for _, l := range rep.Launches {
				r.out.Launched = append(r.out.Launched, Launched{ID: l.ID, Target: l.Target, Attempts: []result.Launch{{Held: 600}}})
			}
		}
		r.out.RepeatsDone = done
		return r
	}
	for done, want := range map[int]string{
		3: "", // one more is bought
		4: "ended after 4 repeats of at most 12: the 2 until the next look would exceed the budget of 14 GPU-hours; run with --resume and a " +
			"larger one goes on",
		5: "ended after 5 repeats of at most 12: the next would exceed the budget of 14 GPU-hours; run with --resume and a larger one goes on",
	} {
		r := launches(done)
		if r.outOfBudget(r.plan.Rounds()[done:]); r.early != want {
			t.Errorf("after %d: %q", done, r.early)
		}
	}
	r := launches(5)
	r.plan.Looks = []int{12}
	if r.outOfBudget(r.plan.Rounds()[5:]); !strings.HasSuffix(r.early, "it is judged with what it has, and a further one is another attempt") {
		t.Errorf("judged once: %q", r.early)
	}
}
