package result

import (
	"strings"

	"github.com/servegate/pipeline/gates/metric"
)

// Measure describes a metric that is not the registry's alone: one that the file declares, or one
// whose unit the file decides.
type Measure struct {
	// Metric is its id: "measure.NAME" of a declared one.
	Metric string `json:"metric"`
	Label  string `json:"label"`
	// Unit of its values, a currency and "/Mtok" of cost.
	Unit      string           `json:"unit"`
	Direction metric.Direction `json:"direction"` // that is better
	Scale     metric.Scale     `json:"scale"`     // of comparison
	// Definition says what is read where, and what is made of it. Values of two definitions are not
	// compared.
	Definition string `json:"definition"`
}

// MeasureOf describes a metric in a document.
func MeasureOf(m metric.Metric) Measure {
	return Measure{Metric: m.ID, Label: m.Label, Unit: string(m.Unit), Direction: m.Direction, Scale: m.Scale, Definition: m.Definition}
}

// Measures are descriptions of metrics, at most one of each.
type Measures []Measure

// Declared are the described metrics. Nothing in a document changes what the registry says is better, or
// how it is compared: of those, unit and definition alone are taken, where the registry leaves the unit
// open.
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

// Definition of a metric that the list describes, "" of others: theirs is the registry's.
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
