package result_test

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/reports/result"
)

func TestThin(t *testing.T) {
	var s result.Series
	for i := range 1000 {
		s.T, s.V = append(s.T, float64(i)), append(s.V, float64(2*i))
	}
	s.Thin(300)
	if len(s.T) != 300 || len(s.V) != 300 || s.T[0] != 0 || s.T[299] != 999 {
		t.Errorf("%d points from %v to %v", len(s.T), s.T[0], s.T[len(s.T)-1])
	}
	for i := range s.T {
		if s.V[i] != 2*s.T[i] {
			t.Fatalf("the value at %v is %v", s.T[i], s.V[i])
		}
	}
	few := result.Series{T: []float64{1, 2, 3}, V: []float64{4, 5, 6}}
	few.Thin(300)
	if !slices.Equal(few.T, []float64{1, 2, 3}) || !slices.Equal(few.V, []float64{4, 5, 6}) {
		t.Errorf("got %v", few)
	}
}
