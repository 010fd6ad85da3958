package engine_test

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

var testMetrics = engine.Metrics{
	Gauges: []engine.Metric{
		{Name: "running", From: []string{"e:running"}},
		{Name: "usage", From: []string{"e:kv_usage", "e:old_usage"}, Mean: true},
	},
	Counters: []engine.Metric{
		{Name: "tokens", From: []string{"e:tokens_total"}},
		{Name: "bytes", From: []string{"e:moved_mb"}, Scale: 1 << 20},
		{Name: "by_source", From: []string{"e:by_source_total"}, Label: "source"},
	},
}

func TestMetricsRead(t *testing.T) {
	for name, tt := range map[string]struct {
		text             string
		gauges, counters map[string]float64
	}{
		"engine cores add up, shares are averaged": {
			"# TYPE e:running gauge\ne:running{engine=\"0\"} 3.0\ne:running{engine=\"1\"} 4\ne:kv_usage{engine=\"0\"} " +
				"0.5\ne:kv_usage{engine=\"1\"} 0.7\ne:old_usage 0.9\n",
			map[string]float64{"running": 7, "usage": 0.6}, nil,
		},
		"an old name": {"e:old_usage{m=\"x\"} 0.25\n", map[string]float64{"usage": 0.25}, nil},
		"a histogram's sum": {
			"e:moved_mb_bucket{le=\"1\"} 7\ne:moved_mb_count 7\ne:moved_mb_sum 3.5\n",
			nil, map[string]float64{"bytes": 3.5 * (1 << 20)},
		},
		"by label": {
			"e:by_source_total{model=\"m\",source=\"local\"} 10\ne:by_source_total{source=\"external\",model=\"m\"} 5\n",
			nil, map[string]float64{"by_source.local": 10, "by_source.external": 5},
		},
		"only the first rank": {"e:running{tp_rank=\"0\"} 3\ne:running{tp_rank=\"1\"} 3\ne:running{tp_rank=\"0\",pp_rank=\"1\"} 3\n",
			map[string]float64{"running": 3}, nil},
		"broken lines cost themselves": {
			"e:running{x=\"\ne:running{x=\"}\" 1\ne:running\ne:running x\ne:running 1 2 3\ne:running NaN\ne:running +Inf\ne:running{a=\"}, " +
				"\\\"\",b=\"\"} 2 1700000000\r\nnonsense\n",
			map[string]float64{"running": 2}, nil,
		},
		"others are not looked at": {"e:tokens_total 9\nother{ 1\nother_total 2", nil, map[string]float64{"tokens": 9}},
	} {
		o, err := testMetrics.Read([]byte(tt.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for what, d := range map[string]string{"gauges": cmp.Diff(tt.gauges, nilIfEmpty(o.Gauges)), "counters": cmp.Diff(tt.counters,
			nilIfEmpty(o.Counters))} {
			if d != "" {
				t.Errorf("%s: %s\n%s", name, what, d)
			}
		}
	}
}

func nilIfEmpty(m map[string]float64) map[string]float64 {
	if len(m) == 0 {
		return nil
	}
	return m
}

func TestMetricsReadBounds(t *testing.T) {
	if _, err := testMetrics.Read([]byte("other 1\n")); err == nil || err.Error() != "none of the engine's metrics is there" {
		t.Errorf("no metrics: %v", err)
	}
	var many strings.Builder
	for range 4001 {
		many.WriteString("e:running 1\n")
	}
	if _, err := testMetrics.Read([]byte(many.String())); err == nil {
		t.Error("any number of lines is accepted")
	}
	many.Reset()
	for i := range 90 {
		many.WriteString("e:by_source_total{source=\"" + strings.Repeat("x", i+1) + "\"} 1\n")
	}
	if o, err := testMetrics.Read([]byte(many.String())); err != nil || len(o.Counters) != 30 {
		t.Errorf("%d counters of one label: %v", len(o.Counters), err)
	}
}

func TestScrape(t *testing.T) {
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte("e:running 1\n"))
	}))
	defer s.Close()
	o, err := testMetrics.Scrape(t.Context(), engine.NewClient(), steps.Endpoint{BaseURL: s.URL})
	if err != nil || o.Gauges["running"] != 1 || o.At.IsZero() {
		t.Errorf("%+v, %v", o, err)
	}
	status = http.StatusNotFound
	if _, err := testMetrics.Scrape(t.Context(), engine.NewClient(), steps.Endpoint{BaseURL: s.URL}); err == nil ||
		!strings.Contains(err.Error(), "GET /metrics: status 404") {
		t.Errorf("got %v", err)
	}
}

func FuzzMetrics(f *testing.F) {
	f.Add([]byte("e:running{a=\"}\\\\\",b=\"\"} 2 17\ne:moved_mb_sum{} 1e3\n# TYPE e:running gauge"))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := testMetrics.Read(text)
		if err != nil {
			return
		}
		for _, m := range []map[string]float64{o.Gauges, o.Counters} {
			for name, v := range m {
				if math.IsNaN(v) {
					t.Fatalf("%s is %v", name, v)
				}
			}
		}
	})
}

// TestManySeries: 100,000 series beside the wanted one cost a look at each line, and 100,000 lines of
// the wanted one are an error and not memory.
func TestManySeries(t *testing.T) {
	m := engine.Metrics{Counters: []engine.Metric{{Name: "n", From: []string{"vllm:prompt_tokens_total"}}}}
	exposition := func(name string) []byte {
		var b bytes.Buffer
		for i := range 100_000 {
			fmt.Fprintf(&b, "%s{request=\"%d\"} 1\n", name, i)
		}
		b.WriteString("vllm:prompt_tokens_total{engine=\"0\"} 7\n")
		return b.Bytes()
	}
	if o, err := m.Read(exposition("other_total")); err != nil || o.Counters["n"] != 7 {
		t.Errorf("%v, %v", o.Counters, err)
	}
	if o, err := m.Read(exposition("vllm:prompt_tokens_total")); err == nil || len(o.Counters) > 0 {
		t.Errorf("%v, %v", o.Counters, err)
	}
}
