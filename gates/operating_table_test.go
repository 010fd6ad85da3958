package gates_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/internal/golden"
)

const (
	// fullFiles are the files behind each number of the page, and shortFiles those of the test that checks it, which
	// are others. Charts that cost more are checked by fewFiles, and those whose files are searched by the same code
	// as another chart's by leastFiles. A number that is far off shows by itself, and numbers that are a little off in
	// all lines of a table show together.
	fullFiles, shortFiles, fewFiles, leastFiles = 2000, 40, 10, 3
	// wrongly is the chance that the check fails though every number of the page has the
	// true value of its simulation, over all numbers. Files are drawn from fixed seeds, so
	// that only a change of what is drawn takes this chance.
	wrongly = 1e-3

	page    = "../docs/evidence/error-rates.md"
	begin   = "<!-- operating characteristics: written by go test ./gates -run OperatingCharacteristics -full -update -->\n"
	end     = "<!-- end of operating characteristics -->\n"
	rewrite = "see what changed, and rewrite it: make operating-characteristics ARGS=-update"
)

var onlyCharts = flag.String("charts", "", "simulate the charts alone whose titles match this regular expression")

// The promises of the decision, simulated: with -full all 2,000 files behind each number of
// the page, otherwise as many others as show whether the page is still right.
func TestOperatingCharacteristics(t *testing.T) {
	all := characteristics()
	checkNames(t, all)
	charts := chosen(all)
	if len(charts) == 0 {
		t.Fatalf("no title matches %q", *onlyCharts)
	}
	first, files := fullFiles, shortFiles
	if *gates.Full {
		first, files = 0, fullFiles
	}
	intro := fmt.Sprintf("Each number is from 2,000 simulated files, unless the table says otherwise. Files are judged after %s repeats.\n",
		numbers(fiveLooks))
	values, tables := make([][][]value, len(charts)), map[string]string{}
	for i, c := range charts {
		n := files
		switch {
		case *gates.Full:
			n = c.stated()
		case c.checked > 0:
			n = c.checked
		}
		values[i] = c.simulate(t, first, n)
		tables[c.title] = c.render(values[i])
		if *gates.Full {
			t.Log("\n" + c.render(values[i]))
			checkPromises(t, c, values[i])
		}
	}
	stated, err := readSection()
	if err != nil {
		t.Fatal(err)
	}
	if *gates.Full && golden.Updating() {
		rewriteReadme(t, intro+join(all, func(c chart) string {
			table := cmp.Or(tables[c.title], tableIn(stated, c))
			if table == "" {
				t.Fatalf("the page has no table %q: simulate it too, its title is new", c.title)
			}
			return table
		}))
		return
	}
	if len(charts) < len(all) {
		stated = intro + join(charts, func(c chart) string { return tableIn(stated, c) })
	}
	for _, problem := range compareTables(stated, intro+join(charts, func(c chart) string { return tables[c.title] }), charts, values) {
		t.Errorf("docs/evidence/error-rates.md: %s; %s", problem, rewrite)
	}
}

// chosen returns the charts that the flag selects.
func chosen(all []chart) []chart {
	only := regexp.MustCompile(*onlyCharts)
	return slices.DeleteFunc(slices.Clone(all), func(c chart) bool { return !only.MatchString(c.title) })
}

// join returns the tables of charts in their order.
func join(charts []chart, table func(chart) string) string {
	var out strings.Builder
	for _, c := range charts {
		out.WriteString(table(c))
	}
	return out.String()
}

// tableIn returns the table of a chart in the section of the page, "" if it is not there.
func tableIn(section string, c chart) string {
	from := strings.Index(section, "\n"+c.title+"\n\n")
	if from < 0 {
		return ""
	}
	body := from + len(c.title) + 3
	if length := strings.Index(section[body:], "\n\n"); length >= 0 {
		return section[from : body+length+1]
	}
	return section[from:]
}

// checkNames refuses two scenarios of one name, which would be drawn with the same seeds.
func checkNames(t *testing.T, charts []chart) {
	t.Helper()
	seen := map[string]*scenario{}
	for _, c := range charts {
		for _, l := range c.lines {
			if len(l.cells) != len(c.columns)-1 {
				t.Fatalf("%s has %d cells for %d columns", l.label, len(l.cells), len(c.columns))
			}
			for _, cell := range l.cells {
				if other := seen[cell.of.name]; other != nil && other != cell.of {
					t.Fatalf("two scenarios are called %q", cell.of.name)
				}
				seen[cell.of.name] = cell.of
			}
		}
	}
}

// checkPromises holds the simulated numbers to their bounds, without any room.
func checkPromises(t *testing.T, c chart, values [][]value) {
	t.Helper()
	for i, l := range c.lines {
		for k, cell := range l.cells {
			if x := values[i][k].number(); !cell.bound.holds(x) {
				t.Errorf("%s: %g, promised %s", cell.of.name, x, cell.bound)
			}
		}
	}
}

// render is the chart as markdown. A promise that is the same for a column stands in its
// head, others beside their numbers.
func (c chart) render(values [][]value) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n| %s", c.title, c.columns[0])
	for k, column := range c.columns[1:] {
		fmt.Fprintf(&b, " | %s", column)
		if same, ok := c.promise(k); ok && same != (bound{}) {
			fmt.Fprintf(&b, " (%s)", same)
		}
	}
	b.WriteString(" |\n|---" + strings.Repeat("|---:", len(c.columns)-1) + "|\n")
	for i, l := range c.lines {
		b.WriteString("| " + l.label)
		for k, cell := range l.cells {
			fmt.Fprintf(&b, " | %.2f", values[i][k].number())
			if _, ok := c.promise(k); !ok && cell.bound != (bound{}) {
				fmt.Fprintf(&b, " (%s)", cell.bound)
			}
		}
		b.WriteString(" |\n")
	}
	return b.String()
}

// promise is the bound of a column, if it is the same for all lines.
func (c chart) promise(column int) (bound, bool) {
	same := c.lines[0].cells[column].bound
	for _, l := range c.lines {
		if l.cells[column].bound != same {
			return bound{}, false
		}
	}
	return same, true
}

// numbers is "4, 6 and 8".
func numbers(looks gates.Looks) string {
	words := make([]string, len(looks))
	for i, n := range looks {
		words[i] = fmt.Sprint(n)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// readSection is what the page has between its two marks.
func readSection() (string, error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	_, rest, ok := strings.Cut(string(data), begin)
	section, _, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", fmt.Errorf("docs/evidence/error-rates.md has no section between %q and %q", begin, end)
	}
	return section, nil
}

func rewriteReadme(t *testing.T, table string) {
	t.Helper()
	section, err := readSection()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(begin+section+end), []byte(begin+table+end), 1)
	if err := os.WriteFile(page, data, 0o644); err != nil { //nolint:gosec // a document of the repository
		t.Fatal(err)
	}
}

var number = regexp.MustCompile(`\| \d+\.\d\d\b`)

// compareTables returns where a stated table is not the simulated one: other words, a line too
// few or too many, a number that its simulation contradicts, or one that breaks a promise.
func compareTables(stated, simulated string, charts []chart, values [][][]value) []string {
	words := func(table string) []string {
		return strings.Split(number.ReplaceAllString(strings.TrimSuffix(table, "\n"), "| N"), "\n")
	}
	got, want := words(stated), words(simulated)
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			return []string{fmt.Sprintf("the table ends before %q", want[i])}
		case i >= len(want):
			return []string{fmt.Sprintf("the table goes on with %q, which is not simulated", got[i])}
		case got[i] != want[i]:
			return []string{fmt.Sprintf("the table has %q in place of %q", got[i], want[i])}
		}
	}
	return contradictions(number.FindAllString(stated, -1), charts, values)
}

// contradictions compares the stated numbers, in their order, with simulations of the same
// cells. It also compares the mean of each column with the mean of its simulations.
func contradictions(stated []string, charts []chart, values [][][]value) []string {
	var problems []string
	level := wrongly / 2 / float64(len(stated)) // there are fewer columns than numbers
	for n, c := range charts {
		columns := make([]column, len(c.columns)-1)
		for i, l := range c.lines {
			for k, cell := range l.cells {
				text := strings.TrimPrefix(stated[0], "| ")
				stated = stated[1:]
				x, err := strconv.ParseFloat(text, 64)
				v := values[n][i][k]
				if err != nil || !v.agrees(x, c.stated(), level) {
					problems = append(problems, fmt.Sprintf("%s, %s: %s is stated, but %d other files give %.2f", l.label, c.columns[k+1], text,
						len(v.of), v.number()))
				}
				if !cell.bound.holds(x) {
					problems = append(problems, fmt.Sprintf("%s, %s: %s is stated, but %s is promised", l.label, c.columns[k+1], text, cell.bound))
				}
				columns[k].add(cell.of, x, v)
			}
		}
		for k, all := range columns {
			if x, v := all.mean(); !v.agrees(x, len(all.of)*c.stated(), level) {
				problems = append(problems, fmt.Sprintf("%s: %.2f is the mean of what is stated, but %d other files give %.2f", c.columns[k+1], x,
					len(v.of), v.number()))
			}
		}
	}
	return problems
}

// column sums the stated and the simulated numbers of a table's column, each scenario once. agrees assumes files of one true
// value. Lines with different values spread less than that, so a correct column is refused less often than its level allows.
type column struct {
	of     []*scenario
	stated float64
	value  value
}

func (c *column) add(of *scenario, stated float64, v value) {
	if slices.Contains(c.of, of) || len(c.of) > 0 && v.mean != c.value.mean {
		return
	}
	c.of, c.stated = append(c.of, of), c.stated+stated
	v.of = slices.Concat(c.value.of, v.of)
	c.value = v
}

func (c *column) mean() (float64, value) { return c.stated / float64(len(c.of)), c.value }
