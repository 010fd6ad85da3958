package lang_test

import (
	"math"
	"strings"
	"testing"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/pipeline/internal/lang"
)

const assertFile = `
server "vllm" "sut" {
  executable = "vllm"
  model      = "m"
}

dataset "random" "d" {
  input_len  = 8
  output_len = 8
}

benchmark "b" {
  matrix {
    rate = [4, 8]
  }

  target  = server.vllm.sut
  dataset = dataset.random.d

  load {
    rate     = matrix.rate
    requests = 1000
  }
}

gate "slo" {
  benchmark = benchmark.b

  assert {
    condition     = self.errors == 0 && self.ttft.p99 < duration("100ms") * matrix.rate
    error_message = "${self.errors} of ${self.requests} failed, TTFT p99 ${self.ttft.p99} s at ${matrix.rate}/s"
  }
}
`

func TestEvalAssert(t *testing.T) {
	cfg := load(t, assertFile)
	slow := map[string]float64{"ttft.p99": 0.5}
	tests := []struct {
		name     string
		cell     int
		metrics  map[string]float64
		errors   int
		message  string
		requests int
	}{
		{name: "kept at the higher rate", cell: 1, metrics: slow, requests: 1000},
		{name: "broken at the lower rate", cell: 0, metrics: slow, requests: 1000, message: "0 of 1000 failed, TTFT p99 0.5 s at 4/s"},
		{name: "errors", cell: 1, metrics: slow, errors: 3, requests: 1000, message: "3 of 1000 failed, TTFT p99 0.5 s at 8/s"},
		{name: "no metric", cell: 1, requests: 1000, message: "self.ttft.p99 has no value"},
		{name: "no metric, errors", cell: 1, errors: 1, requests: 1, message: "self.ttft.p99 has no value"},
		{name: "not a number", cell: 1, metrics: map[string]float64{"ttft.p99": math.NaN()}, requests: 1000,
			message: "self.ttft.p99 has no value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, message, err := cfg.EvalAssert(cfg.Gates[0].Addr, cfg.Benchmarks[0].Cells[tt.cell].Values,
				config.AssertInput{Metrics: tt.metrics, Errors: tt.errors, Requests: tt.requests})
			if err != nil {
				t.Fatal(err)
			}
			if (message == "") != (tt.message == "") || !strings.Contains(message, tt.message) {
				t.Errorf("got %q; want %q", message, tt.message)
			}
		})
	}
}

func TestFewRequestsUnderAnAssertAreAWarning(t *testing.T) {
	src := strings.Replace(assertFile, "requests = 1000", "requests = 100", 1)
	_, diags := lang.Load(lang.Options{Paths: []string{write(t, src)}, Registry: testRegistry(t)})
	if len(diags) != 1 || diags.HasErrors() || !strings.Contains(diags[0].Summary, "self.ttft.p99") {
		t.Errorf("want one warning on self.ttft.p99, got %v", diags)
	}
}

// TestFailureOfAnAssertsExpressions checks that a limit that does not hold is a verdict even if the message or another
// part of the condition cannot be evaluated, and that such a part is an error where the rest holds.
func TestFailureOfAnAssertsExpressions(t *testing.T) {
	const fails = "[1][self.errors + 1]" // beyond the end, once errors is known
	eval := func(old, changed string, ttft float64) (string, error) {
		cfg := load(t, strings.Replace(assertFile, old, changed, 1))
		_, message, err := cfg.EvalAssert(cfg.Gates[0].Addr, cfg.Benchmarks[0].Cells[0].Values,
			config.AssertInput{Metrics: map[string]float64{"ttft.p99": ttft}, Requests: 1000})
		return message, err
	}
	if message, err := eval(`"${self.errors} of`, `"${`+fails+`} of`, 9); err != nil || !strings.Contains(message, "cannot be evaluated") {
		t.Errorf("a message that fails: %q, %v", message, err)
	}
	if message, err := eval("self.errors == 0 &&", fails+" == 0 &&", 9); err != nil || !strings.Contains(message, "of 1000 failed") {
		t.Errorf("a part that fails beside one that does not hold: %q, %v", message, err)
	}
	if message, err := eval("self.errors == 0 &&", fails+" == 0 &&", 0.01); err == nil {
		t.Errorf("a part that fails beside one that holds: %q", message)
	}
}
