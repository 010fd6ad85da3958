package driver

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
)

// unsettled is the share of questions that each launch of the model answers at random.
const unsettled = 0.02

// Model returns a run of an evaluation in virtual time. It answers a question correctly if its difficulty is
// below the declared accuracy. A head of lower accuracy thus only loses questions, except for the few that each
// run draws anew. name is the name of the run.
func Model(e steps.Evaluation, name string) result.Run {
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name))                  // never fails
	launch := rand.New(rand.NewPCG(sum.Sum64(), 1)) //nolint:gosec // a simulation
	questions := rand.New(rand.NewPCG(1, 2))        //nolint:gosec // the same in every run
	scores := make(map[string]float64, e.Questions)
	for q := range e.Questions {
		difficulty, own := questions.Float64(), launch.Float64()
		if own < unsettled {
			difficulty = own / unsettled
		}
		score := 0.0
		if difficulty < e.Accuracy {
			score = 1
		}
		scores[fmt.Sprintf("q%d", q+1)] = score
	}
	return scored(scores, "model")
}
