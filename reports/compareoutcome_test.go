package reports_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/result"
)

// TestCompareTellsOfFailures: a side that loses requests is reported, whatever the figures of
// those that came through.
func TestCompareTellsOfFailures(t *testing.T) {
	side := func(sent, failed int, name string) reports.Side {
		metrics := map[string]float64{"ttft.p50": 0.1, "success.rate": float64(sent-failed) / float64(sent)}
		if sent == failed {
			metrics = nil
		}
		status := result.RunOK
		if metrics == nil {
			status = result.RunFailed
		}
		return reports.Side{Name: name, Doc: &result.Document{Benchmarks: []result.Benchmark{{Addr: "benchmark.x", Cells: []result.Cell{{
			Hash: "h", Values: []result.AxisValue{{Name: "qps", Value: "4"}},
			Runs: []result.Run{{Repeat: 1, Status: status, Sent: sent, Failed: failed, Metrics: metrics}},
		}}}}}}
	}
	for name, tt := range map[string]struct {
		a, b         reports.Side
		want, absent string
	}{
		"none": {side(100, 0, "a"), side(100, 0, "b"), "Success rate", "failed"},
		"many": {side(100, 0, "a"), side(100, 40, "b"),
			"40 of 100 requests of b failed, 0 of 100 of a: b fails more (p < 0.0001), a regression", "chance"},
		"all":    {side(100, 0, "a"), side(100, 100, "b"), "100 of 100 requests of b failed", "chance"},
		"few":    {side(100, 1, "a"), side(100, 2, "b"), "2 of 100 requests of b failed, 1 of 100 of a: no difference", "regression"},
		"better": {side(100, 40, "a"), side(100, 0, "b"), "b fails fewer", "regression"},
	} {
		var text, data bytes.Buffer
		sides := []reports.Side{tt.a, tt.b}
		if err := reports.Compare(&text, sides, format("text"), reports.Options{}); err != nil {
			t.Fatal(err)
		}
		if err := reports.Compare(&data, sides, format("json"), reports.Options{}); err != nil {
			t.Fatal(err)
		}
		words := strings.Join(strings.Fields(text.String()), " ")
		if !strings.Contains(words, tt.want) || strings.Contains(words, tt.absent) {
			t.Errorf("%s: want %q and no %q:\n%s", name, tt.want, tt.absent, text.String())
		}
		if failures := strings.Contains(data.String(), `"failures"`); failures != (name != "none") {
			t.Errorf("%s: failures in the data: %v", name, failures)
		}
	}
}

// TestCompareShowsEachTime: a time that both sides have in another statistic than the usual one is in the table, beside a usual
// metric that alone has a row else.
func TestCompareShowsEachTime(t *testing.T) {
	side := func(shift float64) reports.Side {
		return reports.Side{Doc: &result.Document{Benchmarks: []result.Benchmark{{Addr: "benchmark.x", Cells: []result.Cell{{
			Hash: "h", Values: []result.AxisValue{{Name: "qps", Value: "4"}},
			Runs: []result.Run{{Repeat: 1, Status: result.RunOK, Metrics: map[string]float64{
				"output_throughput.mean": 185.5 + shift, "ttft.mean": 0.02 + shift, "aiperf_itl.mean": 0.005, "e2el.p50": 0.5, "e2el.mean": 0.6,
			}}},
		}}}}}}
	}
	var text bytes.Buffer
	if err := reports.Compare(&text, []reports.Side{side(0), side(0.001)}, format("text"), reports.Options{}); err != nil {
		t.Fatal(err)
	}
	for want, there := range map[string]bool{
		"TTFT mean": true, "ITL mean": true, "E2EL p50": true, "E2EL mean": false, "Output throughput": true,
	} {
		if strings.Contains(text.String(), want) != there {
			t.Errorf("%s: want %v in\n%s", want, there, text.String())
		}
	}
}
