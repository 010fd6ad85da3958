package judge_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/judge"
	"github.com/servegate/pipeline/reports/result"
)

// failing is a session of up to 12 repeats without a change, in which a launch dies and a
// run of 200 requests loses 10 with chances of the side.
func failing(rng *rand.Rand, dies, loses [2]float64) session {
	s := newSession()
	s.plan.Benchmarks[0].RepeatMax, s.plan.Looks = 12, gates.LooksBetween(4, 12)
	for cell := range s.doc.Benchmarks[0].Cells {
		s.doc.Benchmarks[0].Cells[cell].Runs = nil
	}
	for repeat := 1; repeat <= 12; repeat++ {
		for side := range 2 {
			r := run(repeat, 0.1*math.Exp(0.02*rng.NormFloat64()))
			loses := rng.Float64() < loses[side]
			if rng.Float64() < dies[side] {
				dead(&r)
			} else if loses {
				r.Failed = 10
			}
			s.add(side, r)
		}
	}
	return s
}

// What befalls both sides alike is a regression in at most 5 % of sessions, and a head that
// never starts is one in all.
func TestFailuresOfBothSidesAreNoRegression(t *testing.T) {
	for _, tt := range []struct {
		name        string
		dies, loses [2]float64
		least, most float64
	}{
		{"launches die", [2]float64{0.2, 0.2}, [2]float64{}, 0, 0.05},
		{"requests are lost", [2]float64{}, [2]float64{0.1, 0.1}, 0, 0.05},
		{"both", [2]float64{0.1, 0.1}, [2]float64{0.1, 0.1}, 0, 0.05},
		{"the head never starts", [2]float64{0, 1}, [2]float64{}, 1, 1},
		{"the head loses requests in each run", [2]float64{}, [2]float64{0, 1}, 1, 1},
	} {
		const sessions = 200
		rng, red := rand.New(rand.NewPCG(11, 0)), 0
		for range sessions {
			s := failing(rng, tt.dies, tt.loses)
			if err := judge.Judge(s.plan, s.doc, judge.Options{}); err != nil {
				t.Fatal(err)
			}
			if s.doc.Verdict == result.Regression {
				red++
			}
		}
		t.Logf("%s: %d of %d", tt.name, red, sessions)
		if share := float64(red) / sessions; share < tt.least || share > tt.most {
			t.Errorf("%s: %d of %d sessions are a regression", tt.name, red, sessions)
		}
	}
}
