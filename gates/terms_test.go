package gates_test

import (
	"testing"

	"github.com/servegate/pipeline/gates"
)

// A comparison carries out the test that its rule names.
func TestARuleNamesTheTest(t *testing.T) {
	judge := func(c gates.Comparison) *gates.Outcome {
		t.Helper()
		c.CanFail = false
		j, err := gates.Judge(gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}})
		if err != nil {
			t.Fatal(err)
		}
		return j.Comparisons[0].Outcome
	}
	pairs := ratios(0.2, 1.10, 1.12, 1.09, 1.13, 1.11, 1.14)
	c := comparison(t, "ttft.p99", pairs)
	byDefault := judge(c).P
	c.TestName = gates.SignFlip.Name
	named := judge(c).P
	c.TestName, c.Test = "", gates.SignFlip
	if given := judge(c).P; named != given || named == byDefault {
		t.Errorf("p is %g by the named test, %g by the test itself and %g by the default", named, given, byDefault)
	}
	c.Test, c.TestName = nil, "coin"
	if _, err := gates.Judge(gates.Family{Alpha: 0.05, Comparisons: []gates.Comparison{c}}); err == nil {
		t.Error("a test that does not exist is carried out")
	}
}
