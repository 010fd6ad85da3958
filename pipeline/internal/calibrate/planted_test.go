package calibrate_test

import (
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/calibrate"
	"github.com/servegate/pipeline/reports/result"
)

// One repeat of each pair stands for the head, the first about as often as the second, and neither by turns.
func TestHeadOfAPairIsDrawn(t *testing.T) {
	const pairs = 1000
	first, again := 0, 0
	for k := range pairs {
		if calibrate.IsHead(2*k+1) == calibrate.IsHead(2*k+2) {
			t.Fatalf("pair %d has two heads or none", k+1)
		}
		if calibrate.IsHead(2*k + 1) {
			first++
		}
		if k > 0 && calibrate.IsHead(2*k+1) == calibrate.IsHead(2*k-1) {
			again++
		}
	}
	if first < 430 || first > 570 || again < 430 || again > 570 {
		t.Errorf("of %d pairs the first is the head in %d, and the same one as in the pair before in %d", pairs, first, again)
	}
}

// A slow-down in the repeats that stand for the head is found, also where a void pair is
// missing from between.
func TestPlantedSlowDownsAreFound(t *testing.T) {
	p := pipeline(6, 6)
	for name, tt := range map[string]struct {
		share float64
		void  int // repeat
		want  gates.Verdict
		pairs int
	}{
		"nothing":               {0, 0, gates.Pass, 6},
		"10 %":                  {0.10, 0, gates.Regression, 6},
		"10 % and a void pair":  {0.10, 3, gates.Regression, 5},
		"faster, so no finding": {-0.10, 0, gates.Improvement, 6},
	} {
		t.Run(name, func(t *testing.T) {
			doc := measured(6, 0.005, 1)
			for i := range doc.Benchmarks[0].Cells[0].Runs {
				run := &doc.Benchmarks[0].Cells[0].Runs[i]
				if calibrate.IsHead(run.Repeat) {
					run.Metrics["ttft.mean"] *= 1 + tt.share
				}
				if run.Repeat == tt.void {
					run.Status = result.RunVoid
				}
			}
			found, err := calibrate.Planted(p, doc)
			if err != nil {
				t.Fatal(err)
			}
			if d := found.Judgement.Comparisons[0]; d.Verdict != tt.want || found.Pairs != tt.pairs {
				t.Errorf("%s with %d pairs, want %s with %d", d.Verdict, found.Pairs, tt.want, tt.pairs)
			}
		})
	}
	if _, err := calibrate.Planted(p, measured(1, 0.01, 1)); err == nil {
		t.Error("one pair was judged")
	}
}
