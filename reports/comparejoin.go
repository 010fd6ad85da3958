package reports

import (
	"cmp"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/model"
	"github.com/servegate/pipeline/reports/result"
)

// comparedCell is a cell of the first document with its partners, nil for a document without one.
type comparedCell struct {
	benchmark string
	sides     []*result.Cell
	docs      []*result.Document // of the sides
}

// declared returns the metrics that the first document describes.
func (c comparedCell) declared() metric.Declared { return c.docs[0].Measures.Declared() }

// samples returns the values of a side. It returns none if the side's file declares the metric differently from the
// first, or prices it in another currency.
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

// joinAll joins the cells of all documents with the first document's. alone lists the cells without any partner, by
// document.
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

// cellPair pairs one cell from each of two documents.
type cellPair struct{ a, b *result.Cell }

// joinCells pairs the cells of two documents: first by hash, then the rest by axis values if these are unambiguous.
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

// sortedValues returns a key of the axis values that does not depend on their order.
func sortedValues(values []result.AxisValue) string {
	sorted := slices.Clone(values)
	slices.SortFunc(sorted, func(x, y result.AxisValue) int { return cmp.Compare(x.Name, y.Name) })
	var key strings.Builder
	for _, v := range sorted {
		key.WriteString(v.Name + "\x00" + v.Value + "\x00")
	}
	return key.String()
}

// unmatched lists the cells without a partner.
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
