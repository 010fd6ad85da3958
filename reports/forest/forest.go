// Package forest lays out a forest plot, which shows each comparison as an estimate with its interval against the line
// at zero and the band of the margin. One layout has three drawings: rows of a page, an SVG file, and text of a fixed
// width.
//
// The unit of the axis is the margin of each comparison, and worse is always on the right, so that comparisons of
// different metrics are read alike.
package forest

import "math"

// Plot holds comparisons, grouped by what they measure.
type Plot struct {
	Title, Desc string
	Groups      []Group
}

// Group holds the comparisons of one metric, what fails first.
type Group struct {
	Name string
	Rows []Row
}

// Row is one comparison.
type Row struct {
	// Label names the cell. Verdict is a word, Sign a character with the same meaning, Class one of "bad", "warn",
	// "good" and "".
	Label, Verdict, Sign, Class string
	// Passed is set for a pass or an improvement.
	Passed bool
	// Value, Lower and Upper are changes in margins, positive if worse. Value is NaN if nothing was compared, the
	// ends are NaN without an interval, and infinite if open.
	Value, Lower, Upper float64
	// Text is the change in its own unit, Tip everything that is known in a sentence.
	Text, Tip string
	// Anchor is the ID of the place on the same page with the pairs behind the row.
	Anchor string
}

// Rows returns the number of rows.
func (p Plot) Rows() (n int) {
	for _, g := range p.Groups {
		n += len(g.Rows)
	}
	return n
}

// Drawn returns the number of rows with an estimate.
func (p Plot) Drawn() (n int) {
	for _, g := range p.Groups {
		for _, r := range g.Rows {
			if !math.IsNaN(r.Value) {
				n++
			}
		}
	}
	return n
}

// Limits of the axis, in margins.
const (
	least = 1.6 // so that the band of the margin is always seen whole
	most  = 5   // what is further away is drawn at the edge
)

// Scale maps changes to places from 0 to 1.
type Scale struct{ lo, hi float64 }

// Scale returns the axis on which all rows are drawn.
func (p Plot) Scale() Scale {
	s := Scale{-least, least}
	for _, g := range p.Groups {
		for _, r := range g.Rows {
			for _, x := range []float64{r.Value, r.Lower, r.Upper} {
				if !math.IsNaN(x) && !math.IsInf(x, 0) {
					s.lo, s.hi = min(s.lo, max(x, -most)), max(s.hi, min(x, most))
				}
			}
		}
	}
	return s
}

// At returns the place of a change, limited to the axis.
func (s Scale) At(x float64) float64 {
	return max(0, min(1, (x-s.lo)/(s.hi-s.lo)))
}

// Mark is a row laid out on an axis: the places of the interval's ends and of the estimate. Ends that are open or
// beyond the axis have no stop.
type Mark struct {
	From, At, To         float64
	Interval             bool
	OpenLower, OpenUpper bool
	// Beyond is the side on which even the estimate is off the axis: −1, 0 or 1.
	Beyond int
}

// Mark lays a row out. It reports false if the row has no estimate.
func (s Scale) Mark(r Row) (Mark, bool) {
	if math.IsNaN(r.Value) {
		return Mark{}, false
	}
	m := Mark{At: s.At(r.Value), Interval: !math.IsNaN(r.Lower) && !math.IsNaN(r.Upper)}
	switch {
	case r.Value < s.lo:
		m.Beyond = -1
	case r.Value > s.hi:
		m.Beyond = 1
	}
	if m.Interval {
		m.From, m.To = s.At(r.Lower), s.At(r.Upper)
		m.OpenLower, m.OpenUpper = r.Lower < s.lo, r.Upper > s.hi
	}
	return m, true
}
