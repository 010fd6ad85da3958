package engine_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

func reader(t *testing.T, m steps.Measure) *engine.SeriesReader {
	t.Helper()
	r, _, err := engine.Readers(m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSeriesReader(t *testing.T) {
	const text = `# TYPE done counter
done_total{reason="stop",engine="0"} 3
done_total{reason="length",engine="0"} 4.0
done_total{reason="abort",engine="0"} NaN
# TYPE running gauge
running 7
`
	counter := steps.Measure{Series: "done_total", Kind: steps.MeasureCounter}
	for name, tt := range map[string]struct {
		with func(*steps.Measure)
		sum  float64
		fail string
	}{
		"one label":        {func(m *steps.Measure) { m.Labels = map[string]string{"reason": "stop"} }, 3, ""},
		"an expression":    {func(m *steps.Measure) { m.LabelsMatch = map[string]string{"reason": "stop|length"} }, 7, ""},
		"a whole value":    {func(m *steps.Measure) { m.LabelsMatch = map[string]string{"reason": "len"} }, 0, ""},
		"not there":        {func(m *steps.Measure) { m.Series = "begun_total" }, 0, ""},
		"not a number":     {func(*steps.Measure) {}, 0, `line 4 of the metrics is not a finite number: "done_total{reason=\"abort\"`},
		"gauge as counter": {func(m *steps.Measure) { m.Series = "running" }, 7, ""},
		"counter as gauge": {func(m *steps.Measure) { m.Kind, m.Labels = steps.MeasureGauge, map[string]string{"reason": "stop"} }, 0,
			`its source calls done_total a counter, and the measure says kind = "gauge"`},
		"gauge as buckets": {func(m *steps.Measure) { m.Kind, m.Series = steps.MeasureHistogram, "running" }, 0, `calls running a gauge`},
	} {
		m := counter
		tt.with(&m)
		s, err := reader(t, m).Read([]byte(text))
		if (err != nil) != (tt.fail != "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s: %v", name, err)
		}
		if sum := (engine.Rise{Values: s.Values}).Sum(""); err == nil && sum != tt.sum {
			t.Errorf("%s: %g, want %g", name, sum, tt.sum)
		}
	}
}

// TestManySeriesOfAMeasure: 100,000 series of a name are refused after the first 4000, and are no matter where
// labels choose among them.
func TestManySeriesOfAMeasure(t *testing.T) {
	var b bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&b, "requests_total{user=\"u%06d\",path=\"/v1/completions\"} %d\n", i, i)
	}
	m := steps.Measure{Series: "requests_total", Kind: steps.MeasureCounter}
	s, err := reader(t, m).Read(b.Bytes())
	if err == nil || !strings.Contains(err.Error(), "more than 4000 series") || len(s.Values) > 4000 {
		t.Errorf("%d series: %v", len(s.Values), err)
	}
	m.Labels = map[string]string{"user": "u099999"}
	if s, err := reader(t, m).Read(b.Bytes()); err != nil || len(s.Values) != 1 {
		t.Errorf("one of them: %d series, %v", len(s.Values), err)
	}
	// What is kept while it is read does not grow with the number of lines.
	other := reader(t, steps.Measure{Series: "other_total", Kind: steps.MeasureCounter})
	if n := testing.AllocsPerRun(1, func() { _, _ = other.Read(b.Bytes()) }); n > 100 {
		t.Errorf("%g allocations to look for a series among 100,000 others", n)
	}
}

func TestRiseOf(t *testing.T) {
	of := func(kind string, values ...any) engine.Series {
		s := engine.Series{Type: kind, Values: map[string]float64{}}
		for i := 0; i < len(values); i += 2 {
			s.Values[values[i].(string)] = values[i+1].(float64)
		}
		return s
	}
	for name, tt := range map[string]struct {
		before, after engine.Series
		want          float64
		fail          string
	}{
		"rose":         {of("counter", "a", 1.0, "b", 2.0), of("counter", "a", 3.0, "b", 2.0), 2, ""},
		"new":          {of("counter", "a", 1.0), of("counter", "a", 3.0, "b", 5.0), 7, ""},
		"from nothing": {of(""), of("counter", "a", 3.0), 3, ""},
		// The sum rises though one of them began again.
		"one was reset": {of("counter", "a", 9.0, "b", 2.0), of("counter", "a", 1.0, "b", 99.0), 0, "a fell from 9 to 1"},
		"one is gone":   {of("counter", "a", 9.0, "b", 2.0), of("counter", "a", 10.0), 0, "b was there before the run and not after it"},
		"another type":  {of("counter", "a", 1.0), of("gauge", "a", 3.0), 0, "was of type counter before the run and of gauge after it"},
	} {
		rise, err := engine.RiseOf(tt.before, tt.after)
		if (err != nil) != (tt.fail != "") || err != nil && !strings.Contains(err.Error(), tt.fail) {
			t.Errorf("%s: %v", name, err)
		} else if err == nil && rise.Sum("") != tt.want {
			t.Errorf("%s: %g, want %g", name, rise.Sum(""), tt.want)
		}
	}
}

// TestHistogram: the percentiles of two servers together, as Prometheus' histogram_quantile finds them.
func TestHistogram(t *testing.T) {
	m := steps.Measure{Series: "wait", Kind: steps.MeasureHistogram}
	read := func(text string) engine.Rise {
		s, err := reader(t, m).Read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		rise, err := engine.RiseOf(engine.Series{}, s)
		if err != nil {
			t.Fatal(err)
		}
		return rise
	}
	one := read("# TYPE wait histogram\nwait_bucket{le=\"0.1\"} 10\nwait_bucket{le=\"1\"} 10\nwait_bucket{le=\"+Inf\"} 10\nwait_sum " +
		"0.5\nwait_count 10\n")
	two := read("wait_bucket{le=\"0.1\"} 0\nwait_bucket{le=\"1.0\"} 8\nwait_bucket{le=\"+Inf\"} 10\nwait_sum 9.5\nwait_count 10\n")
	h, err := engine.HistogramOf([]engine.Rise{one, two})
	if err != nil || h.Sum != 10 || h.Count != 20 {
		t.Fatalf("%+v, %v", h, err)
	}
	for q, want := range map[float64]float64{0.5: 0.1, 0.25: 0.05, 0.7: 0.55, 0.9: 1} {
		if got, err := h.Quantile(q); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("%g: %g, %v, want %g", q, got, err, want)
		}
	}
	if _, err := (engine.Histogram{Count: 1, Bounds: h.Bounds, Cumulative: make([]float64, len(h.Bounds))}).Quantile(0.5); err == nil {
		t.Error("buckets that counted nothing have a median")
	}
	if _, err := h.Quantile(0.99); err == nil || !strings.Contains(err.Error(), "beyond its largest bucket, which ends at 1") {
		t.Errorf("beyond the buckets: %v", err)
	}
	other := read("wait_bucket{le=\"0.2\"} 10\nwait_bucket{le=\"+Inf\"} 10\nwait_sum 0.5\nwait_count 10\n")
	if _, err := engine.HistogramOf([]engine.Rise{one, other}); err == nil || !strings.Contains(err.Error(), "different buckets") {
		t.Errorf("other buckets: %v", err)
	}
	if _,
		err := engine.HistogramOf([]engine.Rise{read("wait_bucket{le=\"1\"} 9\nwait_bucket{le=\"+Inf\"} 3\nwait_count 3\n")}); err == nil {
		t.Error("buckets that are not cumulative are taken")
	}
}
