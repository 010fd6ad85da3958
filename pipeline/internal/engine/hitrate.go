package engine

import (
	"fmt"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/dataset"
)

// hitMargin is how far the share of prefix cache hits may be from what the workload
// implies: engines count whole blocks, and the first requests of a run find an empty
// cache together.
const hitMargin = 0.1

// unexpectedHits says in what way a server's prefix cache found more than the workload
// implies, "" if it did not: then prompts came back that were new, or a cache was not
// cleared, and the run measured less prefill than it says. Finding less is no fault of the
// measurement: the cache may be off, or too small.
func unexpectedHits(w steps.Workload, run result.Run) string {
	implied, ok := dataset.Repeated(w.Dataset)
	queries, asked := run.Server[steps.CounterPrefixQueries]
	hits := run.Server[steps.CounterPrefixHits]
	if !ok || !asked || queries <= 0 || hits/queries <= implied+hitMargin {
		return ""
	}
	return fmt.Sprintf("%.0f %% of the prompt tokens were found in the prefix cache, where the workload implies at most %.0f %%: the caches were not empty, so the run measured less prefill than it should",
		100*hits/queries, 100*implied)
}
