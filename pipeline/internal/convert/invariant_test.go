package convert_test

import (
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/convert"
)

// checkDefined holds a run to what Run promises of every source.
func checkDefined(t *testing.T, r *convert.Run) {
	t.Helper()
	for id, v := range r.Metrics {
		m, ok := metric.Lookup(id)
		if ok = ok && m.Tool == ""; ok == (r.Definitions[id] != "") {
			t.Errorf("%s: %s is in the registry: %v, and its definition is %q", r.At(), id, ok, r.Definitions[id])
		}
		if !finite(v) || v < 0 {
			t.Errorf("%s: %s = %v", r.At(), id, v)
		}
	}
	if r.Line < 1 || r.Source == "" || r.Format == "" {
		t.Errorf("a run without a place: %+v", r)
	}
	if c := r.Counts; c.Failed < 0 || c.Succeeded < 0 || c.FailedKnown && c.Failed > c.Sent {
		t.Errorf("%s: counts %+v", r.At(), c)
	}
}
