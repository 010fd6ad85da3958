package github_test

import (
	"fmt"
	"testing"

	"github.com/servegate/pipeline/reports/github"
	"github.com/servegate/pipeline/reports/result"
)

// TestARedCheckIsNotHidden: jobs and steps of one run that report under one name, without a
// matrix that distinguishes them, have a check run and a status each, in whatever order they
// begin and end; a later attempt takes the names of the earlier one again.
func TestARedCheckIsNotHidden(t *testing.T) {
	for name, legs := range map[string][2]github.Leg{
		"one job": {leg(t, "gate", ""), leg(t, "gate", "")}, "two jobs": {leg(t, "a", ""), leg(t, "b", "")}, "no job": {},
	} {
		for _, order := range []string{"AaBb", "ABab", "ABba"} { // capitals begin, small letters end
			s := fake(t)
			for attempt := 1; attempt <= 2; attempt++ {
				e := pullRequest()
				e.Run.Attempt = attempt
				var both [2]*github.Publisher
				for i := range both {
					both[i] = publisher(t, s, newClock(), e, github.Settings{Check: "pipeline", Status: "pipeline", Leg: legs[i]})
					both[i].ID = fmt.Sprint(attempt, i)
				}
				verdicts := [2]result.Verdict{result.Regression, result.Pass}
				for _, c := range order {
					var w []string
					switch c {
					case 'A', 'B':
						w = both[c-'A'].Start(t.Context())
					default:
						w = both[c-'a'].Finish(t.Context(), document(verdicts[c-'a'], 1)).Warnings
					}
					if len(w) > 0 {
						t.Errorf("%q", w)
					}
				}
			}
			newest, states := map[string]string{}, map[string]string{}
			for _, k := range s.Checks() {
				newest[k.Name] = k.Conclusion
			}
			for _, st := range s.Statuses() {
				states[st.Context] = st.State
			}
			for what, all := range map[string]map[string]string{"checks": newest, "statuses": states} {
				count := map[string]int{}
				for _, v := range all {
					count[v]++
				}
				if len(all) != 2 || count["failure"] != 1 || count["success"] != 1 {
					t.Errorf("%s, %s: %s %v", name, order, what, all)
				}
			}
		}
	}
}
