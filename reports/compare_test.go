package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestSpread: a spread beyond all bounds is a number that people read.
func TestSpread(t *testing.T) {
	for want, values := range map[string][]float64{" 10.7 %": {1, 1.1, 1.2, 1.05, 1.3}, " 141 %": {0, 1}, " — ": {1}} {
		var runs []result.Run
		for i, v := range values {
			runs = append(runs, runWith(i+1, 0, v))
		}
		var out bytes.Buffer
		if err := reports.Compare(&out, sidesOf(ofOneCell(runs...), ofOneCell(runs...)), format("text"), reports.Options{}); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(out.String(), want); n != 2 {
			t.Errorf("%v: %d times %q in\n%s", values, n, want, &out)
		}
	}
}
