package cli

import (
	"fmt"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/result"
)

// failOn lets the gates of a file fail on the listed verdicts alone and warn of the
// others; an empty list leaves them as the file says. It comes before the plan, because
// the family that shares the error rate is that of the gates that can fail. Faults of the
// file and of the machine fail in any case: they are no verdicts.
func failOn(cfg *lang.Config, list string) error {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	fails := map[result.Verdict]bool{}
	for word := range strings.SplitSeq(list, ",") {
		switch v := result.Verdict(strings.TrimSpace(word)); v {
		case result.Regression, result.Inconclusive, result.Missing, result.Invalid:
			fails[v] = true
		case "never":
		default:
			return fmt.Errorf("--fail-on %q is none of regression, inconclusive, missing, invalid, never", string(v))
		}
	}
	if len(fails) > 0 && strings.Contains(list, "never") {
		return fmt.Errorf("--fail-on %q fails never and sometimes: give never alone", list)
	}
	for _, g := range cfg.Gates {
		for v, on := range map[result.Verdict]*lang.Action{
			result.Regression: &g.OnRegression, result.Inconclusive: &g.OnInconclusive, result.Missing: &g.OnMissing, result.Invalid: &g.OnInvalid,
		} {
			*on = lang.Warn
			if fails[v] {
				*on = lang.Fail
			}
		}
	}
	return nil
}
