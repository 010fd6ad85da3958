package convert

import (
	"fmt"
	"math"
)

// trtllmTokens reads the counts of tokens from their means.
func trtllmTokens(root, _ *value, r *Run, e *entryList) error {
	n, _ := root.at("request_info/num_requests").number()
	for _, f := range [][2]string{
		{"request_info/avg_input_length", "total input tokens"}, {"request_info/avg_output_length", "total output tokens"},
	} {
		if mean, ok := root.at(f[0]).number(); ok && n > 0 {
			e.text(f[1], fmt.Sprint(int64(math.Round(n*mean))), root.at(f[0]).line)
		}
	}
	r.audit("client", "none: the engine is measured in its own process")
	return nil
}
