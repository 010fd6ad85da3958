package judge

import (
	"slices"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/result"
)

func TestPassesAreOneOutcome(t *testing.T) {
	passing := func(repeat, pass int) result.Run {
		return result.Run{Repeat: repeat, Pass: pass, Launch: "launch", Status: result.RunOK, Sent: 200}
	}
	crashed := func(r result.Run) result.Run {
		r.Status, r.Sent = result.RunFailed, 0
		return r
	}
	again := passing(1, 2)
	again.Launch = "launch~2"
	alone := result.Run{Repeat: 1, Status: result.RunFailed}
	for name, tt := range map[string]struct {
		runs []result.Run
		want []gates.Run
	}{
		"both well": {[]result.Run{passing(1, 1), passing(1, 2)}, []gates.Run{{Repeat: 1, Sent: 400}}},
		"a launch that failed": {[]result.Run{crashed(passing(1, 1)), crashed(passing(1, 2))},
			[]gates.Run{{Repeat: 1, ServerFailed: true}}},
		"a crash and another go": {[]result.Run{crashed(passing(1, 1)), again}, []gates.Run{{Repeat: 1, ServerFailed: true},
			{Repeat: 1, Sent: 200}}},
		"two repeats": {[]result.Run{passing(1, 1), passing(2, 1)}, []gates.Run{{Repeat: 1, Sent: 200},
			{Repeat: 2, Sent: 200}}},
		"without passes": {[]result.Run{alone, alone}, []gates.Run{{Repeat: 1, ServerFailed: true},
			{Repeat: 1, ServerFailed: true}}},
	} {
		if got := outcomes(tt.runs); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
