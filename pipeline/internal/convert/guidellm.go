package convert

import "errors"

// guidellmBenchmark refuses a benchmark without metrics.
func guidellmBenchmark(_, item *value, r *Run, _ *entryList) error {
	if item.at("metrics") == nil {
		return &Error{r.Source, item.line, errors.New("a benchmark without metrics: is this a file of guidellm's version 2?")}
	}
	return nil
}
