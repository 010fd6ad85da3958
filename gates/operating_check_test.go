package gates_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
)

// coins is a chart of files that hit in 20 % and measure 4 or 12 pairs.
func coins() chart {
	sc := &scenario{"coins", func(s *simulator) (ending, error) {
		e := ending{Judgement: gates.Judgement{Comparisons: []gates.Decision{{Verdict: gates.Pass}}}, pairs: 4 + 8*s.rng.IntN(2)}
		if s.rng.IntN(5) == 0 {
			e.Comparisons[0].Verdict = gates.Regression
		}
		return e, nil
	}}
	return chart{
		title: "**Coins**.", columns: []string{"coin", "red", "mean pairs"},
		lines: []line{{"one", []cell{{sc, isRed, atMostPercent(25)}, {sc, nil, bound{}}}},
			{"again", []cell{{sc, isGreen, bound{}}, {sc, nil, bound{most: 9}}}}},
	}
}

// The check of the page fails for each way in which a table can be wrong.
func TestAWrongTableIsNoticed(t *testing.T) {
	c := coins()
	right := c.render(c.simulate(t, 0, fullFiles))
	values := [][][]value{c.simulate(t, fullFiles, 60)}
	simulated := c.render(values[0])
	numbers := number.FindAllString(right, -1)
	if len(numbers) != 4 {
		t.Fatalf("%d numbers in\n%s", len(numbers), right)
	}
	change := func(n int, to string) string { return strings.Replace(right, numbers[n], "| "+to, 1) }
	for name, tt := range map[string]struct{ stated, want string }{
		"as it is":           {right, ""},
		"a little off":       {change(0, "21.50"), ""},
		"a line is missing":  {right[:strings.Index(right, "| again")], "ends before"},
		"a line too many":    {right + "| twice | 1.00 | 2.00 |\n", "not simulated"},
		"another line":       {strings.Replace(right, "| one", "| two", 1), `"| two`},
		"another promise":    {strings.Replace(right, "≤ 25", "≤ 35", 1), "≤ 35"},
		"no number":          {change(0, "?"), "| ?"},
		"a rate too low":     {change(0, "5.00"), "5.00 is stated"},
		"a rate too high":    {change(0, "24.90"), ""},
		"a broken promise":   {change(0, "25.50"), "≤ 25 is promised"},
		"impossible":         {change(0, "120.00"), "120.00 is stated"},
		"mean pairs too low": {change(1, "5.00"), "5.00 is stated"},
	} {
		problems := strings.Join(compareTables(tt.stated, simulated, []chart{c}, values), "\n")
		if tt.want == "" && problems != "" || !strings.Contains(problems, tt.want) {
			t.Errorf("%s: %q, want …%s…", name, problems, tt.want)
		}
	}
}

// Numbers that are each a little off, in the same direction, are noticed by their mean.
func TestAWrongColumnIsNoticed(t *testing.T) {
	c := chart{title: "**Coins**.", columns: []string{"coin", "red", "mean pairs"}}
	for i := range 12 {
		coin := coins().lines[0]
		coin.label = fmt.Sprint("coin ", i)
		sc := *coin.cells[0].of
		sc.name = coin.label
		coin.cells[0].of, coin.cells[1].of = &sc, &sc
		c.lines = append(c.lines, coin)
	}
	values := [][][]value{c.simulate(t, fullFiles, 20)}
	for name, tt := range map[string]struct{ red, pairs, want string }{
		"as it is":           {"20.00", "8.00", ""},
		"a little off":       {"18.00", "8.20", ""},
		"a rate too low":     {"5.00", "8.00", "red: 5.00 is the mean"},
		"a rate too high":    {"40.00", "8.00", "red: 40.00 is the mean"},
		"mean pairs too low": {"20.00", "6.50", "mean pairs: 6.50 is the mean"},
	} {
		stated := slices.Repeat([]string{"| " + tt.red, "| " + tt.pairs}, len(c.lines))
		problems := strings.Join(contradictions(stated, []chart{c}, values), "\n")
		if tt.want == "" && problems != "" || !strings.Contains(problems, tt.want) {
			t.Errorf("%s: %q, want …%s…", name, problems, tt.want)
		}
	}
}

// A file is the same however many are simulated, and by how many processors.
func TestSimulatedFilesHaveSeedsOfTheirOwn(t *testing.T) {
	c := coins()
	many, few := c.simulate(t, 0, 40), c.simulate(t, 30, 10)
	for i := range c.lines {
		for k := range c.lines[i].cells {
			for n, x := range few[i][k].of {
				if many[i][k].of[30+n] != x {
					t.Errorf("line %d, cell %d: file %d is %g and %g", i, k, 30+n, many[i][k].of[30+n], x)
				}
			}
		}
	}
}
