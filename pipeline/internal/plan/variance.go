package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/gates"
	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/pipeline/internal/lang/diag"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/reports/result"
)

// Variance is the spread of pairs from a calibration. The file declares that it is used beside the spread of
// the pairs themselves.
type Variance struct {
	// Calibration is the ID of the record, made at Time.
	Calibration string    `json:"calibration"`
	Time        time.Time `json:"time"`
	// Machine is the machine on which it was made. The pairs must be from one like it.
	Machine map[string]string `json:"machine,omitempty"`
	// Within is the largest ratio of today's spread to the calibration's.
	Within float64 `json:"within"`
	// Spreads holds the spreads of the cells with which others are compared.
	Spreads []Spread `json:"spreads"`
}

// Spread is the spread of the pairs of a cell against itself.
type Spread struct {
	Cell   string  `json:"cell"` // hash
	Metric string  `json:"metric"`
	SD     float64 `json:"sd"` // on the scale of the test
	DF     float64 `json:"df"`
	// Version is the version of the calibrated engine, "" if it is unknown.
	Version string `json:"version,omitempty"`
}

// Calibration is a record of the history or of a file.
type Calibration struct {
	ID      string
	Time    time.Time
	Machine map[string]string
	// Resident is how both launches of a pair stayed loaded, "" if one came after the other.
	Resident string
	// Versions are the versions of the calibrated engines, by cell.
	Versions map[string]string
	// Spread returns the spread of pairs of a cell of a model, and its degrees of freedom. It returns false if
	// the calibration has none.
	Spread func(cell, metric, model string, passes int) (sd, df float64, ok bool)
}

// variance returns the known spreads of the plan's comparisons. Comparisons that the calibration does not know
// use the spread of their pairs alone.
func (b *builder) variance(p *Plan) (*Variance, []string) {
	spec := b.cfg.Settings.Variance
	if spec == nil || b.opt.Calibration == nil {
		return nil, nil
	}
	c, note, err := b.opt.Calibration(spec, p.BaseCells())
	switch {
	case err != nil:
		b.fail(b.cfg.Settings.VarianceRange, "the spread is not known", diag.Sentence(err))
		return nil, nil
	case c == nil:
		return nil, []string{note}
	case c.Resident != "" && p.Resident == "": // its spread excludes what comes with the time between launches
		return nil, []string{fmt.Sprintf("the calibration %s is of servers that stayed loaded and took turns (resident = %q), which hides what "+
			"comes with the time between launches: today's pairs alone say how much they spread; calibrate this file", c.ID, c.Resident)}
	}
	v := &Variance{Calibration: c.ID, Time: c.Time, Machine: c.Machine, Within: spec.Within, Spreads: []Spread{}}
	var unknown []string
	for _, g := range p.Gates {
		if p.usesSpread(g) {
			unknown = append(unknown, v.learn(p, g, c)...)
		}
	}
	switch {
	case len(v.Spreads) == 0:
		b.fail(b.cfg.Settings.VarianceRange, "the spread is not known",
			fmt.Sprintf(
				"The calibration %s has none of what the gates compare: it was of other workloads, benchmarks or models. Calibrate this file.", c.ID))
		return nil, nil
	case len(unknown) > 0:
		const shown = 3
		more := ""
		if len(unknown) > shown {
			more = fmt.Sprintf(" and %d more", len(unknown)-shown)
		}
		return v, []string{fmt.Sprintf("the calibration %s does not know the spread of %s%s: today's pairs alone decide there", c.ID,
			strings.Join(unknown[:min(shown, len(unknown))], ", "), more)}
	}
	return v, nil
}

// learn adds the spreads that a gate uses, and returns the names of those that the calibration lacks.
func (v *Variance) learn(p *Plan, g Gate, c *Calibration) (unknown []string) {
	for _, pair := range g.Comparisons {
		_, cell, ok := p.Cell(pair.Base)
		if !ok {
			continue
		}
		for _, id := range g.Of(pair) {
			sd, df, ok := c.Spread(pair.Base, id, p.ModelOf(cell.Target), p.PassesOf(g.Benchmark))
			if !ok {
				unknown = append(unknown, id+" of "+result.Coordinates(cell.Values, " "))
			} else if _, has := v.spread(pair.Base, id); !has {
				v.Spreads = append(v.Spreads, Spread{pair.Base, id, sd, df, c.Versions[pair.Base]})
			}
		}
	}
	return unknown
}

// BaseCells returns the hashes of the cells with which others are compared.
func (p *Plan) BaseCells() (cells []string) {
	for _, g := range p.Gates {
		for _, c := range g.Comparisons {
			if c.Base != "" && !slices.Contains(cells, c.Base) {
				cells = append(cells, c.Base)
			}
		}
	}
	return cells
}

// usesSpread reports whether the test of a gate uses a known spread.
func (p *Plan) usesSpread(g Gate) bool {
	return g.paired() && p.Test(g) == gates.PairedTTest && !g.OfQuality()
}

// CalibratedVersion returns the version of the engine with which the spread of a comparison was calibrated, ""
// if it is unknown.
func (p *Plan) CalibratedVersion(base, id string) string {
	if p.Variance == nil {
		return ""
	}
	s, _ := p.Variance.spread(base, id)
	return s.Version
}

// spread returns the spread of a metric of a cell.
func (v *Variance) spread(cell, id string) (Spread, bool) {
	for _, s := range v.Spreads {
		if s.Cell == cell && s.Metric == id {
			return s, true
		}
	}
	return Spread{}, false
}

// Known returns the known spread of a comparison of a gate, nil if there is none.
func (p *Plan) Known(g Gate, head string, m metric.Metric) *gates.Known {
	if p.Variance == nil || !p.usesSpread(g) {
		return nil
	}
	for _, c := range g.Comparisons {
		if c.Head != head {
			continue
		}
		if s, ok := p.Variance.spread(c.Base, m.ID); ok {
			return &gates.Known{SD: s.SD, DF: s.DF, Within: p.Variance.Within}
		}
	}
	return nil
}

// worstKnown returns the largest known spread of a metric over the comparisons of a gate, nil if one of them
// has none.
func (p *Plan) worstKnown(g Gate, id string) *gates.Known {
	m, ok := p.Metric(id)
	if !ok {
		return nil
	}
	var worst *gates.Known
	for _, c := range g.Comparisons {
		k := p.Known(g, c.Head, m)
		if k == nil {
			return nil
		}
		if worst == nil || k.SD > worst.SD {
			worst = k
		}
	}
	return worst
}

// text describes the calibration.
func (v *Variance) text() string {
	return fmt.Sprintf("%s, known from the calibration %s of %s: today's may be up to %g times as large",
		humanize.Count(len(v.Spreads), "spread"), v.Calibration, v.Time.Format(time.DateOnly), v.Within)
}
