package reports_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/reports"
	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/result"
)

func terminal(t *testing.T, doc *result.Document, o reports.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := reports.Text(&out, doc, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestHeadings(t *testing.T) {
	tests := map[string]string{
		"regression":     "### ❌ Performance: 1 of 2 gates regressed — `perf/gate.hcl`",
		"pass":           "### ✅ Performance: 2 of 2 gates passed — `perf/gate.hcl`",
		"inconclusive":   "### ❔ Performance: 1 gate inconclusive — `perf/gate.hcl`",
		"head-dead":      "### ❌ Performance: 1 gate regressed — `perf/gate.hcl`",
		"infrastructure": "### ⛔ Performance: infrastructure failure, no verdict on the change — `perf/gate.hcl`",
		"interrupted":    "### ⏹️ Performance: interrupted after 0 of 6 repeats, no verdict — `perf/gate.hcl`",
		"no-gates":       "### ℹ️ Performance: measured, no gates — `perf/gate.hcl`",
		"sides":          "### ⚠️ Performance: 1 gate regressed — `perf/gate.hcl`",
	}
	for name, want := range tests {
		if got, _, _ := strings.Cut(render(t, fixtures()[name], reports.Options{}), "\n"); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestSimulatedIsSaidFirst(t *testing.T) {
	for name, out := range map[string]string{
		"markdown": render(t, simulated(), reports.Options{}),
		"text":     terminal(t, simulated(), reports.Options{}),
		"shortest": render(t, simulated(), reports.Options{Budget: 1500}),
	} {
		first, _, _ := strings.Cut(out, "\n")
		if !strings.Contains(first, "Simulated run") || !strings.Contains(out[:300], "never a baseline for a real one") {
			t.Errorf("%s begins with %q", name, first)
		}
	}
}

func TestTextFitsTheTerminal(t *testing.T) {
	for name, doc := range fixtures() {
		if name == "hostile" { // its numbers have untrusted units
			continue
		}
		for line := range strings.Lines(terminal(t, doc, reports.Options{Width: 120})) {
			if strings.HasPrefix(line, "  │ ") { // logs are as wide as they are
				continue
			}
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 120 {
				t.Errorf("%s: %d columns: %s", name, n, line)
			}
		}
	}
}

func TestTextColours(t *testing.T) {
	plain, coloured := terminal(t, regression(), reports.Options{}), terminal(t, regression(), reports.Options{Color: true})
	if strings.Contains(plain, "\x1b") {
		t.Error("there are colours without Color")
	}
	if !strings.Contains(coloured, "\x1b[31m✗\x1b[0m") {
		t.Error("a regression is not red")
	}
	stripped := strings.NewReplacer("\x1b[31m", "", "\x1b[32m", "", "\x1b[33m", "", "\x1b[1m", "", "\x1b[0m", "").Replace(coloured)
	if stripped != plain {
		t.Error("colours change the layout")
	}
}

func TestBriefText(t *testing.T) {
	brief := terminal(t, regression(), reports.Options{Brief: true})
	for _, want := range []string{"✗ rate=16", "8 comparisons against their margins", "▲ rate=4 ", "●"} {
		if !strings.Contains(brief, want) {
			t.Errorf("%q is missing", want)
		}
	}
	for _, not := range []string{"start-up", "geometric means over the repeats"} {
		if strings.Contains(brief, not) {
			t.Errorf("%q is there", not)
		}
	}
}

// TestBriefTextCountsWarnings: many warnings are not left out of what a terminal shows without a word.
func TestBriefTextCountsWarnings(t *testing.T) {
	doc := regression()
	doc.Warnings = nil
	for i := range 10 {
		doc.Warnings = append(doc.Warnings, fmt.Sprintf("warning number %d", i+1))
	}
	brief := terminal(t, doc, reports.Options{Brief: true})
	for _, want := range []string{"10 warnings", "warning number 1\n", "warning number 5\n", "and 5 more: `pipeline report RUN` shows all"} {
		if !strings.Contains(brief, want) {
			t.Errorf("%q is missing in\n%s", want, brief)
		}
	}
	if all := terminal(t, doc, reports.Options{}); strings.Contains(brief, "warning number 6") ||
		!strings.Contains(all, "warning number 10\n") {
		t.Errorf("the brief report is not the shorter one:\n%s", brief)
	}
}

func TestOptions(t *testing.T) {
	only := render(t, regression(), reports.Options{Gates: []string{"gate.steady"}})
	if !strings.HasPrefix(only, "### ✅ Performance: 1 gate passed") || strings.Contains(only, "gate.latency") {
		t.Errorf("only gate.steady:\n%.300s", only)
	}
	cols := render(t, regression(), reports.Options{Cols: "rate", Metrics: []string{"ttft.p99"}})
	if !strings.Contains(cols, "| cell | metric | rate=4 | rate=16 |\n|:--|:--|--:|--:|\n| `v0.10.2` | TTFT p99 ↓ | 411 ms | 699 ms |\n") {
		t.Error("the axis rate has no columns")
	}
	rows := render(t, severalSides(), reports.Options{Rows: []string{"build"}})
	if strings.Contains(rows, "rate=4") {
		t.Error("an axis that was not asked for is shown")
	}
}

func TestJUnitCounts(t *testing.T) {
	type suites struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	tests := map[string]suites{
		"regression":     {12, 2, 0, 0},
		"pass":           {7, 0, 0, 0},
		"head-dead":      {4, 2, 2, 0},
		"infrastructure": {5, 0, 5, 0},
		"interrupted":    {5, 0, 5, 0},
		"sides":          {4, 0, 0, 1}, // a regression that only warns
		"inconclusive":   {6, 0, 4, 0},
		"no-gates":       {0, 0, 0, 0},
	}
	for name, want := range tests {
		var out bytes.Buffer
		if err := reports.JUnit(&out, fixtures()[name], reports.Options{}); err != nil {
			t.Fatal(err)
		}
		var got suites
		if err := xml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "summary.md")
	for range 2 {
		if err := reports.Summary(path, passing(), reports.Options{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("### ✅")); n != 2 {
		t.Errorf("%d reports, want both appended", n)
	}
	big := bytes.Repeat([]byte("x"), markdown.SummaryBudget-3000)
	if err := os.WriteFile(path, big, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := reports.Summary(path, passing(), reports.Options{}, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() > markdown.SummaryBudget {
		t.Errorf("%v, %v: over budget", info.Size(), err)
	}
	if err := os.WriteFile(path, append(big, big...), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := reports.Summary(path, passing(), reports.Options{}, nil); err == nil || !strings.Contains(err.Error(), "full already") {
		t.Errorf("a full summary: %v", err)
	}
	if err := reports.Summary(filepath.Join(path, "below-a-file"), passing(), reports.Options{}, nil); err == nil {
		t.Error("a path below a file is accepted")
	}
}

func TestCompareGolden(t *testing.T) {
	lone := noGates()
	lone.File = "nightly/results.json"
	for i := range lone.Benchmarks[0].Cells { // an import knows no hashes of ours
		lone.Benchmarks[0].Cells[i].Hash = "import-" + string(rune('a'+i))
	}
	lone.Benchmarks[0].Cells[3].Values[1].Value = "32"
	for _, name := range []string{"text", "markdown"} {
		var out bytes.Buffer
		if err := reports.Compare(&out, sidesOf(regression(), lone), format(name), reports.Options{}); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/compare"+format(name).Extension, out.Bytes())
	}
}

func TestCompareWithItself(t *testing.T) {
	var out bytes.Buffer
	if err := reports.Compare(&out, sidesOf(regression(), regression()), format("text"), reports.Options{}); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); strings.Contains(s, "no significance") || strings.Contains(s, "without a partner") ||
		!strings.Contains(s, " 0.0 %  6, 6") {
		t.Errorf("%s", s)
	}
}

func TestCompareNothingInCommon(t *testing.T) {
	other := noGates()
	other.Benchmarks = nil
	var out bytes.Buffer
	if err := reports.Compare(&out, sidesOf(regression(), other), format("text"), reports.Options{}); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, "No cell is in both") || !strings.Contains(s, "4 cells without a partner") {
		t.Errorf("%s", s)
	}
}

func sidesOf(docs ...*result.Document) []reports.Side {
	var sides []reports.Side
	for _, d := range docs {
		sides = append(sides, reports.Side{Doc: d})
	}
	return sides
}

// TestCompareNamed: sides with names, each against the one that it is to be compared with.
func TestCompareNamed(t *testing.T) {
	slower := func(factor float64) *result.Document {
		d := noGates()
		for i := range d.Benchmarks[0].Cells {
			for j := range d.Benchmarks[0].Cells[i].Runs {
				for id, v := range d.Benchmarks[0].Cells[i].Runs[j].Metrics {
					d.Benchmarks[0].Cells[i].Runs[j].Metrics[id] = v * factor
				}
			}
		}
		return d
	}
	sides := []reports.Side{{Doc: slower(1), Name: "one"}, {Doc: slower(1.1), Name: "RDMA"}, {Doc: slower(1.21), Name: "TCP", Against: 1},
		{Doc: slower(1.5)}}
	for _, f := range reports.AllFormats().OfComparisons() {
		var out bytes.Buffer
		if err := reports.Compare(&out, sides, f, reports.Options{Metrics: []string{"ttft.p50"}}); err != nil {
			t.Fatal(err)
		}
		switch {
		case f.Page:
			golden.Equal(t, "testdata/compare-named.page.txt", []byte(outline(t, out.String())))
		case f.Name == "curves":
			golden.Equal(t, "testdata/compare-named-"+f.File(), out.Bytes())
		default:
			golden.Equal(t, "testdata/compare-named"+f.Extension, out.Bytes())
		}
	}
	for _, against := range []int{-1, 2, 4} {
		bad := slices.Clone(sides)
		bad[2].Against = against
		if err := reports.Compare(io.Discard, bad, format("text"), reports.Options{}); err == nil ||
			!strings.Contains(err.Error(), "side TCP is compared with none") {
			t.Errorf("against %d: %v", against, err)
		}
	}
}

// TestCompareHostileNames: a side's name is text in every format.
func TestCompareHostileNames(t *testing.T) {
	sides := sidesOf(regression(), regression())
	sides[0].Name, sides[1].Name = "=cmd|<b>`x`\x1b[2J", "a\nb | c"
	for _, f := range reports.AllFormats().OfComparisons() {
		var out bytes.Buffer
		if err := reports.Compare(&out, sides, f, reports.Options{}); err != nil {
			t.Fatal(err)
		}
		s := out.String()
		if strings.Contains(s, "\x1b[2J") || strings.Contains(s, "a\nb") || f.Name == "markdown" && (strings.Contains(s, "<b>") ||
			strings.Contains(s, "b | c")) || f.Name == "csv" && strings.Contains(s, ",=cmd") {
			t.Errorf("%s:\n%q", f.Name, s[:min(len(s), 2000)])
		}
	}
}

// TestWarningsAreCounted: a warning of several comparisons is there once, with how many more have it.
func TestWarningsAreCounted(t *testing.T) {
	for more, want := range []string{"unlike work\n", "unlike work (and 1 more time)\n", "unlike work (and 2 more times)\n"} {
		doc := regression()
		for i := range more + 1 {
			doc.Gates[0].Decisions[i].Warnings = append(doc.Gates[0].Decisions[i].Warnings, "unlike work")
		}
		if out := string(written(t, "text", doc, reports.Options{})); strings.Count(out, "unlike work") != 1 || !strings.Contains(out, want) {
			t.Errorf("%d more: no %q in\n%s", more, want, out)
		}
	}
}

// TestWarningsOfSeveralTargetsAreOne: what is said of several targets is said once.
func TestWarningsOfSeveralTargetsAreOne(t *testing.T) {
	doc := regression()
	base, head := doc.Targets[0].Addr, doc.Targets[1].Addr
	doc.Warnings = []string{base + ": is warm", "is warm", head + ": is hot", head + ": is warm", base + ": is warm", "elsewhere: is warm"}
	out := string(written(t, "text", doc, reports.Options{Width: 200}))
	for _, want := range []string{"\n4 warnings\n",
		"\n- " + base + " and " + head + ": is warm\n", "\n- " + head + ": is hot\n", "\n- elsewhere: is warm\n"} {
		if strings.Count(out, want) != 1 {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// TestMeasuresWithoutGate: what a file declares is among the measured values though no gate is about it, and values
// of which none is a usual one are all shown.
func TestMeasuresWithoutGate(t *testing.T) {
	declared := regression()
	declared.Measures = result.Measures{{Metric: "measure.drafted", Label: "Drafted per token", Direction: metric.LowerIsBetter,
		Scale: metric.Log}}
	other := noGates()
	for i := range declared.Benchmarks[0].Cells {
		declared.Benchmarks[0].Cells[i].Summary["measure.drafted"] = 1.75
	}
	for i := range other.Benchmarks[0].Cells {
		other.Benchmarks[0].Cells[i].Summary = map[string]float64{"success.rate": 1, "startup.time": 42.5, "house.metric": 17.25}
	}
	for name, tt := range map[string]struct {
		doc  *result.Document
		want []string
	}{
		"declared": {declared, []string{"Drafted per token", "1.75"}},
		"others":   {other, []string{"Start", "42.5", "house.metric", "17.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := render(t, tt.doc, reports.Options{})
			_, measured, _ := strings.Cut(text, "Measured values of")
			for _, word := range tt.want {
				if !strings.Contains(measured, word) {
					t.Errorf("the measured values do not have %q:\n%s", word, measured)
				}
			}
		})
	}
}
