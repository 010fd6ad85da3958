package result

import (
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
)

// Lanes are the parts of one machine that repeats were measured in side by side, and how much they
// slowed each other before the first repeat.
type Lanes struct {
	List []Lane `json:"list"`
	// Passes of each cell: in each one lane of a side alone, and all of them at once.
	Passes int `json:"passes,omitempty" bounds:"0,"`
	// Shown says that no metric is worse by its limit; without it nothing was measured in several lanes at once.
	Shown bool `json:"shown"`
	// OneLane is why repeats came one after another, each in its lane; absent where they ran side by side, or
	// the run ended with the check.
	OneLane string   `json:"one_lane,omitempty"`
	Slowed  []Slowed `json:"slowed"`
	// Spent is what the check took; absent where servers were replaced by processes.
	Spent *Spent `json:"spent,omitempty"`
}

// Lane is a part of a machine.
type Lane struct {
	Cores  string   `json:"cores,omitempty"`
	Memory string   `json:"memory,omitempty"` // NUMA nodes
	GPUs   []string `json:"gpus,omitempty"`
	NICs   []string `json:"nics,omitempty"`
}

// Slowed is what the other lanes did to one metric of a cell: a lane alone against the same beside them.
type Slowed struct {
	Cell   string `json:"cell"`            // hash
	Label  string `json:"label,omitempty"` // of the cell, for people
	Metric string `json:"metric"`
	// Limit is how much worse it may be, as a share.
	Limit metric.Margin `json:"limit" bounds:"0,"`
	Pairs int           `json:"pairs" bounds:"0,"`
	// Worse is how much worse it is beside the others, as a share of the value alone, and Most how much
	// that may be by its interval; absent where no test was possible.
	Worse *float64 `json:"worse,omitempty"`
	Most  *float64 `json:"most,omitempty"`
	// Verdict is pass where it is shown to be within the limit, and regression where it is slower.
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"` // for the verdict
	// Warnings of it, such as that it is not the same in all lanes.
	Warnings []string `json:"warnings,omitempty"`
}

// Change is "6.1 % worse" or "0.3 % better", beside the others; Worse must be known.
func (s *Slowed) Change() string {
	if *s.Worse < 0 {
		return fmt.Sprintf("%.1f %% better", -100**s.Worse)
	}
	return fmt.Sprintf("%.1f %% worse", 100**s.Worse)
}

// Worst is what comes closest to its limit, or exceeds it most; nil where nothing was found out.
func (l *Lanes) Worst() *Slowed {
	of := func(s *Slowed) float64 { return *s.Most / float64(s.Limit) }
	var worst *Slowed
	for i := range l.Slowed {
		if s := &l.Slowed[i]; s.Most != nil && s.Limit > 0 && (worst == nil || of(s) > of(worst)) {
			worst = s
		}
	}
	return worst
}
