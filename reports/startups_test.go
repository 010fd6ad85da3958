package reports

import (
	"maps"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

// Repeats that measured void runs again stand after the planned ones on an axis.
func TestPlacesOfRepeats(t *testing.T) {
	var launches []result.Launch
	for _, n := range []int{1, 1, 2, 3, 1001, 1002, 1002} {
		launches = append(launches, result.Launch{Repeat: n})
	}
	want := map[int]int{1: 1, 2: 2, 3: 3, 1001: 4, 1002: 5}
	if got := places(launches); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
