package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/reports/result"
)

// pessimist is a test that nothing but this file knows: whatever was measured, the head is
// worse by half. It needs three repeats.
var pessimist = &gates.Test{
	Name: "pessimist", Doc: "for those who expect the worst", LeastRepeats: 3,
	Run: func(x gates.Sample, _ gates.Settings) (gates.Statistic, error) {
		if len(x.Differences) < 3 {
			return gates.Statistic{}, fmt.Errorf("%w for the pessimist", gates.ErrTooFew)
		}
		return gates.Statistic{
			Shift: 0.5, SE: 0.001, DF: 2, T: 500, Greater: 1e-6, Less: 1 - 1e-6, Lower: 0.4, Upper: 0.6,
			Noise: gates.Noise{SD: 0.002, Slope: 1},
		}, nil
	},
}

// TestTestIsOneValue shows that a significance test that is only in the table can be named by
// a gate, is planned and judged by, and shows in reports and in the schema.
func TestTestIsOneValue(t *testing.T) {
	t.Chdir(t.TempDir())
	file := strings.Replace(toyPipeline, `margin    = "20%"`, "margin    = \"20%\"\n  test      = \"pessimist\"", 1)
	file = strings.ReplaceAll(file, `"toy"`, `"json"`)
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("p.pipeline.hcl", file)
	write("few.pipeline.hcl", strings.NewReplacer("min = 4", "min = 2", "max = 4", "max = 2").Replace(file))
	write("unknown.pipeline.hcl", strings.Replace(file, "pessimist", "optimist", 1))
	run := toyRunner(t, func(a *app) { a.tests = append(a.tests, pessimist) })

	run(exitRegression, "run", "p.pipeline.hcl", "--simulate=virtual", "--out", "out")
	var doc result.Document
	text := run(exitOK, "report", "out", "--format", "json")
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	d := doc.Gates[0].Decisions[0]
	if doc.Gates[0].TestName != "pessimist" || d.Verdict != result.Regression || d.P == nil || *d.P != 1e-6 {
		t.Errorf("test %q, %s: %s, p = %v", doc.Gates[0].TestName, d.Verdict, d.Reason, d.P)
	}
	if got := run(exitOK, "report", "out", "--format", "markdown"); !strings.Contains(got, "+64.9 %") ||
		strings.Contains(got, "what its own runs do not") {
		t.Errorf("the report does not show the change that the test found:\n%s", got)
	}
	if got := run(exitRegression, "gate", "out"); !strings.Contains(got, "regression") {
		t.Errorf("judged again:\n%s", got)
	}
	if got := run(exitUsage, "plan", "few.pipeline.hcl"); !strings.Contains(got, "pessimist needs at least 3 repeats") {
		t.Errorf("two repeats were planned:\n%s", got)
	}
	if got := run(exitUsage, "validate", "unknown.pipeline.hcl"); !strings.Contains(got, "pessimist") {
		t.Errorf("an unknown test: %s", got)
	}
	if got := run(exitOK, "schema"); !strings.Contains(got, "pessimist: for those who expect the worst") {
		t.Error("the schema does not describe the test")
	}
}
