package machine

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/steps/probe"
)

// TestEnergy: the integral of the power within the run, or why it is not known.
func TestEnergy(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	watts := func(pairs ...float64) (out []probe.Snapshot) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, probe.Snapshot{At: at(pairs[i]), GPUs: []probe.GPU{{UUID: "a", Power: pairs[i+1]}, {UUID: "b", Power: 10}}})
		}
		return out
	}
	for name, tt := range map[string]struct {
		seen    []probe.Snapshot
		used    []string
		joules  float64
		problem string
	}{
		"constant":                   {watts(0, 100, 5, 100, 10, 100), []string{"a"}, 800, ""},
		"a ramp":                     {watts(0, 0, 10, 100), []string{"a"}, 400, ""}, // from 10 W after 1 s to 90 W after 9 s
		"of two":                     {watts(0, 100, 10, 100), []string{"a", "b"}, 880, ""},
		"before the run":             {watts(-20, 500, 0, 100, 5, 100, 10, 100), []string{"a"}, 800, ""},
		"read after it began":        {watts(3, 100, 8, 100), []string{"a"}, 800, ""},
		"once":                       {watts(3, 100), []string{"a"}, 0, "read 1 times"},
		"never":                      {watts(0, probe.Unknown, 10, probe.Unknown), []string{"a"}, 0, "read 0 times"},
		"not for too long a time":    {watts(0, 100, 40, 100), []string{"a"}, 0, "was not read for 40s"},
		"one of two does not report": {watts(0, 100, 10, 100), []string{"a", "c"}, 0, "GPU c"},
	} {
		got := energy(tt.seen, tt.used, at(1), at(9))
		if math.Abs(got.Joules-tt.joules) > 1e-9 || !strings.Contains(got.Unknown, tt.problem) || (got.Unknown != "") != (tt.problem != "") {
			t.Errorf("%s: %+v, want %g %q", name, got, tt.joules, tt.problem)
		}
	}
}
