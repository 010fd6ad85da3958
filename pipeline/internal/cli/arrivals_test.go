package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/load"
	"github.com/zclconf/go-cty/cty"
)

// waves is a load model that nothing but this file knows: every period some requests at once.
var waves = load.Arrival{
	Name: "waves", Doc: "so many at once, again and again",
	Takes: steps.Schema{Attrs: []steps.Attr{
		{Name: "period", Type: cty.Number, Unit: steps.UnitDuration, Doc: "Time between two waves."},
		{Name: "height", Type: cty.Number, Doc: "Requests of a wave."},
	}},
	Check: func(l steps.Load, given func(string) bool) *steps.Problem {
		if !given("period") || height(l) < 1 {
			return &steps.Problem{Path: []string{"arrival"}, Summary: "waves need a period and a height", Detail: "Set both."}
		}
		return nil
	},
	Expected: func(l steps.Load) float64 { return float64(l.Duration/period(l)) * float64(height(l)) },
	Times: func(l steps.Load, n int, _ *rand.PCG) []time.Duration {
		out := make([]time.Duration, n)
		for i := range out {
			out[i] = time.Duration(i/height(l)) * period(l)
		}
		return out
	},
}

func height(l steps.Load) int { return int(l.Number("height")) }

func period(l steps.Load) time.Duration { return time.Duration(l.Number("period")) }

// TestArrivalIsOneValue shows that a load model that is only in the table can be named by a file with arguments of
// its own, is checked, planned, sent, told apart and described.
func TestArrivalIsOneValue(t *testing.T) {
	t.Chdir(t.TempDir())
	const (
		steady = "rate     = 20\n    requests = 10"
		wavy   = "arrival  = \"waves\"\n    period   = \"500ms\"\n    height   = 3\n    duration = \"2s\""
	)
	if !strings.Contains(toyPipeline, steady) {
		t.Fatal("the load of the toy's file has changed")
	}
	file := strings.NewReplacer(steady, wavy, `"toy"`, `"json"`).Replace(toyPipeline)
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("p.pipeline.hcl", file)
	write("short.pipeline.hcl", strings.Replace(file, `"2s"`, `"400ms"`, 1))
	write("flat.pipeline.hcl", strings.Replace(file, "height   = 3", "", 1))
	write("foreign.pipeline.hcl", strings.Replace(toyPipeline, "rate     = 20", "rate     = 20\n    height   = 3", 1))
	write("rated.pipeline.hcl", strings.Replace(file, "height   = 3", "height   = 3\n    rate     = 4", 1))
	run := toyRunner(t, func(a *app) { a.arrivals = append(a.arrivals, waves) })

	for name, want := range map[string]string{
		"short.pipeline.hcl":   "load sends no request",
		"flat.pipeline.hcl":    "waves need a period and a height",
		"foreign.pipeline.hcl": `arrival "poisson" has no height`,
		"rated.pipeline.hcl":   `arrival "waves" has no rate`,
	} {
		if got := run(exitUsage, "validate", name); !strings.Contains(got, want) {
			t.Errorf("%s: want %q:\n%s", name, want, got)
		}
	}
	// The plan takes the length of a run from the schedule of the model: 40 waves, one each 20 s, in each of 8 runs.
	write("long.pipeline.hcl", strings.NewReplacer(`"500ms"`, `"20s"`, `duration = "2s"`, "requests = 120").Replace(file))
	if got := run(exitOK, "plan", "long.pipeline.hcl"); !strings.Contains(got, "about 104 min") {
		t.Errorf("the plan does not know how long a run takes:\n%s", got)
	}
	run(exitOK, "run", "p.pipeline.hcl", "--simulate=virtual", "--out", "out")
	var doc result.Document
	if err := json.Unmarshal([]byte(run(exitOK, "report", "out", "--format", "json")), &doc); err != nil {
		t.Fatal(err)
	}
	cell := doc.Benchmarks[0].Cells[0]
	if want := "waves height 3 period 500ms, 2s, random 64→4"; cell.Workload != want {
		t.Errorf("the workload reads %q, want %q", cell.Workload, want)
	}
	if want := `{"height":3,"period":500000000}`; cell.Work["load_options"] != want {
		t.Errorf("the facts of the work: %v, want load_options %s", cell.Work, want)
	}
	if cell.Runs[0].Sent != 12 {
		t.Errorf("%d requests in 2s, want 12", cell.Runs[0].Sent)
	}
	if rate := cell.Runs[0].Audit["planned_rate"]; rate != 8.0 { // the last wave begins after 1.5s
		t.Errorf("planned %v requests per second, want 8", rate)
	}
	if got := run(exitOK, "schema", "benchmark"); !strings.Contains(got, "Time between two waves.") ||
		!strings.Contains(got, "waves") {
		t.Errorf("the schema does not describe the load model:\n%s", got)
	}
}
