package result

import (
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// Measure describes a metric that the file declares, or whose unit the file sets.
type Measure struct {
	// Metric is its id: "measure.NAME" if declared.
	Metric string `json:"metric"`
	Label  string `json:"label"`
	// Unit of its values; for costs, a currency and "/Mtok".
	Unit      string           `json:"unit"`
	Direction metric.Direction `json:"direction"` // direction of improvement
	Scale     metric.Scale     `json:"scale"`     // scale of comparison
	// Definition describes what is read from where, and how the value is computed. Values of two
	// definitions are not compared.
	Definition string `json:"definition"`
}

// MeasureOf returns the description of a metric in a document.
func MeasureOf(m metric.Metric) Measure {
	return Measure{Metric: m.ID, Label: m.Label, Unit: string(m.Unit), Direction: m.Direction, Scale: m.Scale, Definition: m.Definition}
}

// Measures holds descriptions of metrics, at most one of each.
type Measures []Measure

// Declared returns the described metrics. A document cannot change the direction or scale of a
// metric of the registry: only its unit and definition are used, and only if the registry leaves
// the unit open.
func (list Measures) Declared() metric.Declared {
	var out metric.Declared
	for _, x := range list {
		if of, ok := metric.Lookup(x.Metric); ok {
			if of.Unit == metric.Money {
				of.Unit, of.Definition = metric.Unit(x.Unit), x.Definition
				out = append(out, of)
			}
			continue
		}
		if name, ok := strings.CutPrefix(x.Metric, metric.DeclaredGroup+"."); ok {
			out = append(out, metric.Metric{
				ID: x.Metric, Group: metric.DeclaredGroup, Stat: name, Label: x.Label, Unit: metric.Unit(x.Unit),
				Direction: x.Direction, Scale: x.Scale,
				Level: metric.RunLevel, MinRequests: 1, Counted: true, Definition: x.Definition, Source: "the file",
			})
		}
	}
	return out
}

// Definition returns the definition of a described metric, "" for others, which the registry
// defines.
func (list Measures) Definition(id string) string {
	for _, x := range list {
		if x.Metric == id {
			return x.Definition
		}
	}
	return ""
}

// Metric finds a metric by its ID: one of the registry, or one that the document describes.
func (doc *Document) Metric(id string) (metric.Metric, bool) {
	return doc.Measures.Declared().Lookup(id)
}
