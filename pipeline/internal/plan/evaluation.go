package plan

import (
	"fmt"
	"slices"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/humanize"
)

// Loss is the smallest loss of an evaluation's score that is found with 80 % power, or the smallest gain if an
// improvement is expected.
type Loss struct {
	Questions int `json:"questions"`
	// Differ is the share of the questions in which the sides differ.
	Differ float64 `json:"differ"`
	// Loss is 0 if they differ in too few to find any.
	Loss float64 `json:"loss"`
}

// assumedDifferences are the shares of answers in which sides are assumed to differ, such as with another build
// of a kernel or another quantization.
var assumedDifferences = []float64{0.02, 0.05, 0.2}

// questions returns how many questions the evaluation of a gate asks, the fewest over its cells; 0 for other
// gates.
func (p *Plan) questions(g Gate) int {
	least := 0
	for _, c := range g.Comparisons {
		_, cell, ok := p.Cell(c.Head)
		if e := cell.evaluation(); ok && e != nil && (least == 0 || e.Questions < least) {
			least = e.Questions
		}
	}
	return least
}

// decideEvaluation computes what a number of questions can find. It refuses a margin that they cannot find,
// however alike the sides are. All launches get the same questions, so more repeats find no smaller loss.
func (b *builder) decideEvaluation(p *Plan, g *Gate, questions int, src *config.Gate) {
	level := slices.Max(p.prospect(*g).Levels)
	margin := float64(g.Margin)
	if need := gates.NeedQuestions(margin, level); g.Expect == gates.NoRegression && questions < need && !b.opt.IgnoreNoise {
		b.fail(src.MarginRange, "too few questions for the margin",
			fmt.Sprintf("With %d questions a loss of %.3g percentage points is found in fewer than %.0f %% of runs, however few other answers the "+
				"head gives. Ask at least %d, widen the margin, or go on with --ignore-noise.",
				questions, 100*margin, 100*gates.Power, need))
	}
	for _, differ := range assumedDifferences {
		if differ <= margin {
			continue // a loss beyond the margin makes them differ in more
		}
		loss, _ := gates.DetectableLoss(questions, differ, margin, level, g.Expect)
		g.Losses = append(g.Losses, Loss{questions, differ, loss})
	}
}

// text describes how small a loss is found.
func (l Loss) text(expect gates.Expectation) string {
	what, found := "loss", "found"
	if expect == gates.ExpectImprovement {
		what, found = "gain", "shown"
	}
	where := fmt.Sprintf("%s, and the sides differ in %.0f %% of the answers", humanize.Count(l.Questions, "question"), 100*l.Differ)
	if l.Loss == 0 {
		return fmt.Sprintf("%s: no %s is %s with %.0f %% power", where, what, found, 100*gates.Power)
	}
	return fmt.Sprintf("%s: a %s of %.1f percentage points is %s with %.0f %% power", where, what, 100*l.Loss, found, 100*gates.Power)
}
