package reports

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
	"gonum.org/v1/gonum/stat"
)

// Side is a result in a comparison.
type Side struct {
	Doc *result.Document
	// Name in the table; a letter unless set.
	Name string
	// Against is the index of the side that its changes are against: the first unless set.
	Against int
}

// maxSides is how many results one table takes: those without a name have a letter.
const maxSides = 20

// maxSideName is how much of a name a table has room for.
const maxSideName = 30

// Title is what the i-th side is called.
func (s Side) Title(i int) string {
	return cmp.Or(escape.Text(s.Name, maxSideName), string(rune('A'+i)))
}

// Compare writes two or more documents as one table: their cells joined with those of the
// first by hash, else by axis values, and for each metric the geometric means over the
// valid runs of each side, the change against another one, the number of runs and their
// spread. It describes and judges nothing: results that were not measured alternately in
// one session differ by everything that changed between them. Cells without a partner are
// listed. Of the options, those about gates are ignored.
func Compare(w io.Writer, sides []Side, f Format, o Options) error {
	if len(sides) < 2 || len(sides) > maxSides {
		return fmt.Errorf(
			"%d results: a comparison takes 2 to %d; quote a pattern of file names, so that its files are one side: 'name=base:base/*.json'",
			len(sides), maxSides)
	}
	for i, s := range sides {
		if s.Against < 0 || s.Against >= len(sides) || s.Against == i && i > 0 {
			return fmt.Errorf("side %s is compared with none of the others", s.Title(i))
		}
	}
	return f.Comparison(w, sides, o)
}

// drawn is a comparison in a format that draws reports.
func drawn(write func(io.Writer, *model.Report, Options) error) func(io.Writer, []Side, Options) error {
	return func(w io.Writer, sides []Side, o Options) error { return write(w, newCompared(sides, o).report(), o) }
}

// compared is a comparison with what several of its sections look up in it.
type compared struct {
	sides []Side
	o     Options
	first *view
	cells []comparedCell
	alone [][]cellAt // cells without a partner, by side
	rows  []comparedRow
	found []outcome
	page  *pageView // nil in other formats
}

func newCompared(sides []Side, o Options) *compared {
	docs := documents(sides)
	c := &compared{sides: sides, o: o, first: newView(docs[0], o)}
	c.cells, c.alone = joinAll(docs)
	c.rows, c.found = comparedRows(c.cells, o), outcomes(c.cells, sides)
	return c
}

// comparedSections are those of a comparison.
var comparedSections = []model.SectionOf[*compared]{
	{ID: "sides", Weight: model.Attention, Build: (*compared).table},
	{ID: "failed", Weight: model.Attention, Build: (*compared).lostRequests},
	{ID: "alone", Weight: model.Attention, Build: (*compared).unmatched},
	{ID: "curves", On: model.PageOnly, Build: (*compared).curves},
	{ID: "notes", On: model.PageOnly, Build: (*compared).notes},
}

// report lays the comparison out, see Compare.
func (c *compared) report() *model.Report {
	sides := c.sides
	r := &model.Report{Icon: model.IconInfo,
		Lead: []model.Line{model.Plain("Described, not judged: they were not measured alternately in one session.")}}
	named := slices.ContainsFunc(sides, func(s Side) bool { return s.Name != "" })
	r.Heading = model.Join(" ", model.Plain("Comparison: "+sides[0].Title(0)), model.Code(documentName(sides[0].Doc)))
	for i, s := range sides[1:] {
		r.Heading = model.Join(" ", r.Heading, model.Plain("with "+s.Title(i+1)), model.Code(documentName(s.Doc)))
	}
	if named { // the files follow below
		names := make([]string, len(sides))
		for i, s := range sides {
			names[i] = s.Title(i)
		}
		r.Heading = model.Plain("Comparison: " + strings.Join(names, ", "))
	}
	if simulated := simulatedSides(sides); simulated != "" {
		r.Banner = model.Line{{Text: "Simulated:", Style: model.Strong}, {Text: " " + simulated + "; compares with nothing real."}}
	}
	for i, s := range sides {
		about := newView(s.Doc, c.o).session()
		if named {
			about = model.Join(" · ", model.Code(documentName(s.Doc)), about)
		}
		if len(about) > 0 {
			r.Lead = append(r.Lead, model.Join(": ", model.Plain(s.Title(i)), about))
		}
	}
	if len(c.rows) == 0 {
		r.Lead = append(r.Lead, model.Plain("No cell is in both, or none of them has a metric in both."))
	}
	if slices.ContainsFunc(c.found, outcome.failsMore) {
		r.Icon = model.IconRegression
	}
	r.Sections = model.Sections(comparedSections, c, c.page != nil)
	r.Legend = []model.Line{
		model.Plain("Geometric means over valid runs. " + changesAgainst(sides) +
			"; ↓ lower is better, ↑ higher is better; ± is the coefficient of variation between runs, n the number of runs of each side."),
	}
	if single(c.rows) {
		r.Legend = append(r.Legend, model.Plain("With one run on a side no significance is possible: the change may be noise altogether. What "+
			"decides is a gate over 5 launches of each side or more, measured alternately."))
	}
	return r
}

// documents are those of the sides.
func documents(sides []Side) []*result.Document {
	docs := make([]*result.Document, len(sides))
	for i, s := range sides {
		docs[i] = s.Doc
	}
	return docs
}

// crossed reports whether not all changes are against the first side.
func crossed(sides []Side) bool {
	return slices.ContainsFunc(sides, func(s Side) bool { return s.Against != 0 })
}

// changesAgainst says what the changes are against.
func changesAgainst(sides []Side) string {
	if crossed(sides) {
		return "Changes are against the side that their column names"
	}
	return "Changes are against " + sides[0].Title(0)
}

func documentName(d *result.Document) string { return cmp.Or(d.File, d.RunID, "(no name)") }

// simulatedSides lists the simulated ones, "" if all are real.
func simulatedSides(sides []Side) string {
	var names []string
	for i, s := range sides {
		if s.Doc.Simulated != "" {
			names = append(names, s.Title(i))
		}
	}
	return humanize.List(names)
}

// comparedCell is a cell of the first document with its partners, nil where there is none.
type comparedCell struct {
	benchmark string
	sides     []*result.Cell
	docs      []*result.Document // of the sides
}

// declared are the metrics that the first document describes.
func (c comparedCell) declared() metric.Declared { return c.docs[0].Measures.Declared() }

// samples are the values of a side; none where its file declares the metric otherwise than the
// first does, or prices it in another currency.
func (c comparedCell) samples(side int, m metric.Metric) []float64 {
	if c.sides[side] == nil {
		return nil
	}
	own, _ := c.docs[side].Metric(m.ID)
	if m.Group == metric.DeclaredGroup && own.Definition != m.Definition || own.ID != "" && own.Unit != m.Unit {
		return nil
	}
	return samples(c.sides[side], m)
}

// joinAll joins the cells of all documents with those of the first. alone are the cells
// without any partner, by document.
func joinAll(docs []*result.Document) (cells []comparedCell, alone [][]cellAt) {
	index := map[*result.Cell]int{}
	for _, c := range allCells(docs[0]) {
		index[c.cell] = len(cells)
		sides := make([]*result.Cell, len(docs))
		sides[0] = c.cell
		cells = append(cells, comparedCell{c.benchmark.Addr, sides, docs})
	}
	alone = make([][]cellAt, len(docs))
	for i, d := range docs[1:] {
		pairs, _, rest := joinCells(docs[0], d)
		for _, p := range pairs {
			cells[index[p.a]].sides[i+1] = p.b
		}
		alone[i+1] = rest
	}
	for _, c := range allCells(docs[0]) {
		if partners := cells[index[c.cell]].sides[1:]; !slices.ContainsFunc(partners, func(p *result.Cell) bool { return p != nil }) {
			alone[0] = append(alone[0], c)
		}
	}
	return cells, alone
}

// cellPair is a cell of each of two documents.
type cellPair struct{ a, b *result.Cell }

// joinCells pairs the cells of two documents: by hash, then, of those that are left, by
// axis values where these are unambiguous.
func joinCells(a, b *result.Document) (pairs []cellPair, onlyA, onlyB []cellAt) {
	restA, restB := allCells(a), allCells(b)
	for _, key := range []func(cellAt) string{
		func(c cellAt) string { return c.cell.Hash },
		func(c cellAt) string { return sortedValues(c.cell.Values) },
	} {
		var found []cellPair
		found, restA, restB = joinBy(restA, restB, key)
		pairs = append(pairs, found...)
	}
	return pairs, restA, restB
}

func allCells(d *result.Document) []cellAt {
	var cells []cellAt
	for i := range d.Benchmarks {
		b := &d.Benchmarks[i]
		for j := range b.Cells {
			cells = append(cells, cellAt{b, &b.Cells[j]})
		}
	}
	return cells
}

func joinBy(a, b []cellAt, key func(cellAt) string) (pairs []cellPair, restA, restB []cellAt) {
	byKey, countA := map[string][]int{}, map[string]int{}
	for i, c := range b {
		byKey[key(c)] = append(byKey[key(c)], i)
	}
	for _, c := range a {
		countA[key(c)]++
	}
	used := map[int]bool{}
	for _, c := range a {
		k := key(c)
		if at := byKey[k]; len(at) == 1 && countA[k] == 1 {
			used[at[0]] = true
			pairs = append(pairs, cellPair{c.cell, b[at[0]].cell})
			continue
		}
		restA = append(restA, c)
	}
	for i, c := range b {
		if !used[i] {
			restB = append(restB, c)
		}
	}
	return pairs, restA, restB
}

// sortedValues is the axis values whatever their order.
func sortedValues(values []result.AxisValue) string {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(x, y result.AxisValue) int { return cmp.Compare(x.Name, y.Name) })
	var key strings.Builder
	for _, v := range sorted {
		key.WriteString(v.Name + "\x00" + v.Value + "\x00")
	}
	return key.String()
}

// comparedRow is one metric of one cell: the values of each side's runs, none where the
// side does not have it.
type comparedRow struct {
	benchmark string
	values    []result.AxisValue
	metric    metric.Metric
	sides     [][]float64
}

func comparedRows(cells []comparedCell, o Options) []comparedRow {
	var rows []comparedRow
	for _, c := range cells {
		for _, m := range comparedMetrics(o, c) {
			row := comparedRow{benchmark: c.benchmark, values: c.sides[0].Values, metric: m}
			for i := range c.sides {
				row.sides = append(row.sides, c.samples(i, m))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// repeated reports whether a side has several runs.
func (r comparedRow) repeated() bool {
	return slices.ContainsFunc(r.sides, func(values []float64) bool { return len(values) > 1 })
}

// single reports that some side has only one run.
func single(rows []comparedRow) bool {
	return slices.ContainsFunc(rows, func(r comparedRow) bool {
		return slices.ContainsFunc(r.sides, func(values []float64) bool { return len(values) == 1 })
	})
}

// table has one row for each metric of each cell.
func (c *compared) table() model.Section {
	rows, sides := c.rows, c.sides
	t := model.Table{Columns: []model.Column{{Title: "cell", Wrap: true}, {Title: "metric", Wrap: true}}}
	spreads := len(sides) == 2 || slices.ContainsFunc(rows, comparedRow.repeated) // a wide table has no room for dashes
	for i, s := range sides {
		t.Columns = append(t.Columns, model.Column{Title: s.Title(i), Align: model.Right})
		if spreads {
			t.Columns = append(t.Columns, model.Column{Title: "±", Align: model.Right})
		}
		if i > 0 {
			title := "change"
			if crossed(sides) {
				title = "vs " + sides[s.Against].Title(s.Against)
			}
			t.Columns = append(t.Columns, model.Column{Title: title, Align: model.Right})
		}
	}
	t.Columns = append(t.Columns, model.Column{Title: "n", Align: model.Right})
	for _, r := range rows {
		t.Rows = append(t.Rows, comparisonRow(cmp.Or(c.first.valuesName(r.values), model.ShortAddr(r.benchmark)), r, sides, spreads))
	}
	s := model.Section{Tables: []model.Table{t}}
	if c.page != nil {
		s.Title = model.Plain("Side by side")
	}
	return s
}

func comparisonRow(name string, r comparedRow, sides []Side, spreads bool) model.Row {
	row := model.Row{Cells: []model.Line{model.Code(name), directed(r.metric.Label, r.metric.Direction)}}
	counts := make([]string, len(r.sides))
	scale := humanize.ScaleFor(string(r.metric.Unit), r.centers()...)
	for i, values := range r.sides {
		counts[i] = strconv.Itoa(len(values))
		value := humanize.None
		if len(values) > 0 {
			value = scale.Value(center(r.metric, values))
		}
		row.Cells = append(row.Cells, model.Plain(value))
		if spreads {
			row.Cells = append(row.Cells, model.Plain(spread(values)))
		}
		if i > 0 {
			row.Cells = append(row.Cells, model.Plain(r.changeText(i, sides[i].Against, scale)))
		}
	}
	if len(counts) > 2 && len(slices.Compact(slices.Clone(counts))) == 1 {
		counts = counts[:1] // a wide table has no room to say the same many times
	}
	row.Cells = append(row.Cells, model.Plain(strings.Join(counts, ", ")))
	return row
}

// centers are those of the sides that have the metric.
func (r comparedRow) centers() []float64 {
	var out []float64
	for _, values := range r.sides {
		if len(values) > 0 {
			out = append(out, center(r.metric, values))
		}
	}
	return out
}

// change of one side against another: a ratio − 1 on the log scale, else a difference; NaN
// where one of them lacks the metric.
func (r comparedRow) change(side, against int) float64 {
	if len(r.sides[side]) == 0 || len(r.sides[against]) == 0 {
		return math.NaN()
	}
	a, b := center(r.metric, r.sides[against]), center(r.metric, r.sides[side])
	if r.differs() {
		return b - a
	}
	return b/a - 1
}

// differs reports whether changes of the metric are differences.
func (r comparedRow) differs() bool {
	return r.metric.Scale == metric.Difference || r.metric.Scale == metric.Proportion
}

func (r comparedRow) changeText(side, against int, s humanize.Scale) string {
	c := r.change(side, against)
	switch {
	case math.IsNaN(c):
		return humanize.None
	case r.differs():
		return s.Difference(c)
	}
	return humanize.Percent(c)
}

// comparedMetrics are those of A that another side has, of those asked for, else of the
// key metrics, or what the tool of the results has of the same quantity; where there is none
// of those, all.
func comparedMetrics(o Options, c comparedCell) []metric.Metric {
	declared := c.declared()
	shared := func(id string) bool {
		m, sides := describe(declared, id), 0
		for i := range c.sides {
			if len(c.samples(i, m)) > 0 {
				sides++
			} else if i == 0 {
				return false
			}
		}
		return sides > 1
	}
	var out []metric.Metric
	add := func(ids ...string) {
		for _, id := range ids {
			if shared(id) && !slices.ContainsFunc(out, func(m metric.Metric) bool { return m.ID == id }) {
				out = append(out, describe(declared, id))
			}
		}
	}
	if len(o.Metrics) > 0 {
		for _, id := range o.Metrics {
			add(cmp.Or(describe(declared, id).ID, id))
		}
		return out
	}
	for _, id := range keyMetricsOf(func(id string) bool { return shared(id) || slices.ContainsFunc(likeIDs(id), shared) }) {
		if shared(id) {
			add(id)
		} else {
			add(likeIDs(id)...)
		}
	}
	for _, m := range declared {
		add(m.ID)
	}
	measured := func(m metric.Metric) bool { return m.ID != successRate }
	if slices.ContainsFunc(out, measured) {
		return out
	}
	out = nil
	add(allIDs(c)...)
	return out
}

const successRate = "success.rate"

// hasLike reports whether some values have one of a metric, or of what another load generator has for it.
func hasLike(values map[string]float64, id string) bool {
	return slices.ContainsFunc(append(likeIDs(id), id), func(id string) bool { _, ok := values[id]; return ok })
}

// likeIDs are the ids of other load generators for what a metric of the registry is to ours.
func likeIDs(id string) []string {
	own := describe(nil, id)
	var ids []string
	for _, g := range metric.Foreign() {
		if g.Quantity == own.Group {
			ids = append(ids, g.Name+"."+own.Stat)
		}
	}
	return ids
}

// allIDs are the metrics of a cell's first side, in the order of the registry, then those of
// other load generators, then those without a description.
func allIDs(c comparedCell) []string {
	var ids []string
	for _, m := range metric.All() {
		ids = append(ids, m.ID)
	}
	for _, g := range metric.Foreign() {
		for _, m := range g.Metrics {
			ids = append(ids, m.ID)
		}
	}
	other := map[string]bool{}
	for id := range c.sides[0].Summary {
		other[id] = true
	}
	for _, r := range c.sides[0].Current() {
		for id := range r.Metrics {
			other[id] = true
		}
	}
	return append(ids, slices.Sorted(maps.Keys(other))...)
}

// samples are the values of a metric over the valid runs, those of the passes of a launch
// as one; a cell with only a summary has one.
func samples(c *result.Cell, m metric.Metric) []float64 {
	var launches [][]float64
	at := map[int]int{} // by repeat
	for _, r := range c.Current() {
		x, ok := r.Metrics[m.ID]
		if !ok || r.Status != result.RunOK {
			continue
		}
		if i, seen := at[r.Repeat]; seen && r.Pass > 0 {
			launches[i] = append(launches[i], x)
			continue
		}
		at[r.Repeat] = len(launches)
		launches = append(launches, []float64{x})
	}
	values := make([]float64, len(launches))
	for i, passes := range launches {
		values[i] = m.Mean(passes)
	}
	if x, ok := c.Summary[m.ID]; ok && len(values) == 0 {
		return []float64{x}
	}
	return values
}

// center is the geometric mean on the log scale, the mean on others and where a value
// has no logarithm.
func center(m metric.Metric, values []float64) float64 {
	if m.Scale = cmp.Or(m.Scale, metric.Log); slices.Min(values) <= 0 {
		return metric.Mean(values)
	}
	return m.Mean(values)
}

// spread is the variation of values for people.
func spread(values []float64) string {
	cv := variation(values)
	if !humanize.Finite(cv) {
		return humanize.None
	}
	return strings.TrimPrefix(humanize.Percent(cv), "+")
}

// variation is the coefficient of variation (standard deviation with divisor n − 1 over the
// mean), NaN with fewer than two values.
func variation(values []float64) float64 {
	if len(values) < 2 {
		return math.NaN()
	}
	mean, sd := stat.MeanStdDev(values, nil)
	return sd / math.Abs(mean)
}

// unmatched lists the cells that only one document has.
func (c *compared) unmatched() model.Section {
	n := 0
	for _, cells := range c.alone {
		n += len(cells)
	}
	s := model.Section{Title: model.Plain(humanize.Count(n, "cell") + " without a partner")}
	for i, cells := range c.alone {
		for _, at := range cells {
			name := cmp.Or(c.first.valuesName(at.cell.Values), "the cell")
			s.Notes = append(s.Notes, model.Join(" ", model.Plain("only in "+c.sides[i].Title(i)+":"), model.Code(name), model.Plain("of"),
				model.Code(at.benchmark.Addr)))
		}
	}
	return s
}
