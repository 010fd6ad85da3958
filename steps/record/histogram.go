package record

import (
	"fmt"
	"math"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// maxHistogram is the largest value in a histogram, a day in microseconds. Longer latencies count as this
// value.
const maxHistogram = 24 * 3600 * 1e6

// Histograms returns the distributions of "ttft", "tpot", "itl" and "e2el" as
// HdrHistogram V2 compressed strings (base64), in microseconds with three significant
// digits. A group without data is absent. They are for display and merging; metrics
// are computed from the records.
func Histograms(run Run) (map[string]string, error) {
	s := Collect(run)
	out := map[string]string{}
	for id, v := range map[string][]float64{"ttft": s.TTFT, "tpot": s.TPOT, "itl": s.ITL, "e2el": s.E2EL} {
		if len(v) == 0 {
			continue
		}
		enc, err := encodeHistogram(v)
		if err != nil {
			return nil, fmt.Errorf("histogram of %s: %w", id, err)
		}
		out[id] = enc
	}
	return out, nil
}

func encodeHistogram(v []float64) (string, error) {
	h := hdrhistogram.New(1, maxHistogram, 3)
	for _, x := range v {
		us := int64(math.Round(min(max(x*1e6, 0), maxHistogram)))
		if err := h.RecordValue(us); err != nil {
			return "", err
		}
	}
	b, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", err
	}
	return string(b), nil
}
