package metric

import "slices"

// DeclaredGroup is the group of the metrics that files declare: "measure" in "measure.stalls".
const DeclaredGroup = "measure"

// Declared holds metrics that a file or a document describes itself. They add to those of the
// registry or replace them, because their unit can depend on the file.
type Declared []Metric

// Lookup finds a metric by its ID, like the function Lookup.
func (d Declared) Lookup(id string) (Metric, bool) {
	if i := slices.IndexFunc(d, func(m Metric) bool { return m.ID == id }); i >= 0 {
		return d[i], true
	}
	return Lookup(id)
}

// All returns the metrics of the registry, with declared replacements, followed by the other
// declared ones.
func (d Declared) All() []Metric {
	all := All()
	for _, m := range d {
		if i := slices.IndexFunc(all, func(of Metric) bool { return of.ID == m.ID }); i >= 0 {
			all[i] = m
		} else {
			all = append(all, m)
		}
	}
	return all
}

// InMoney returns the unit of a metric per million tokens in a currency.
func InMoney(currency string) Unit { return Unit(currency + "/Mtok") }
