package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/pipeline/internal/plan"
	"github.com/servegate/pipeline/reports/result"
)

// Fingerprints are made from the JSON of gates, so the order of their members must not change.
func TestTheMembersOfAGateKeepTheirOrder(t *testing.T) {
	text, err := json.Marshal(plan.Gate{
		Addr: "gate.g", Benchmark: "benchmark.b", Metrics: []string{"ttft.p50"},
		Terms: gates.Terms{
			Claim: gates.Claim{Margin: 0.05, Expect: gates.ExpectImprovement}, SuiteMargin: 0.02,
			Rule: gates.Rule{Alpha: 0.01, TestName: "sign_flip", Strict: true}, AllowOverload: true,
		},
		Actions: result.Actions{OnRegression: result.Fail, OnInconclusive: result.Warn, OnMissing: result.Ignore,
			OnInvalid: result.Fail},
		OnUnprovenTransport: result.Warn,
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"addr":"gate.g","benchmark":"benchmark.b","metrics":["ttft.p50"],` +
		`"margin":0.05,"expect":"improvement","suite_margin":0.02,"alpha":0.01,"test":"sign_flip","strict":true,"allow_overload":true,` +
		`"on_regression":"fail","on_inconclusive":"warn","on_missing":"ignore","on_invalid":"fail","on_unproven_transport":"warn",` +
		`"comparisons":null,"range":{"file":"","line":0,"col":0}}`
	if string(text) != want {
		t.Errorf("a gate is\n%s, and was\n%s", text, want)
	}
}
