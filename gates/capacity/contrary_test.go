package capacity_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates/capacity"
)

// TestContrary: a load that missed clearly is named if it is below the interval and below a load that held.
func TestContrary(t *testing.T) {
	probe := func(load, headroom float64) capacity.Probe {
		return capacity.Probe{Load: load, Headroom: headroom, Held: headroom >= 0}
	}
	probes := []capacity.Probe{probe(4, -0.3), probe(6, -0.04), probe(8, 0.5), probe(16, -0.3), probe(20, 0.1), probe(30, -0.5)}
	for lower, want := range map[float64][]int{3: nil, 12: {0}, 18: {0, 3}, 40: {0, 3}} {
		if got := capacity.Contrary(probes, lower); !slices.Equal(got, want) {
			t.Errorf("below an interval from %g: probes %v, want %v", lower, got, want)
		}
	}
}
