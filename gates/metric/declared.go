package metric

import "slices"

// DeclaredGroup is the group of the metrics that files declare: "measure" in "measure.stalls".
const DeclaredGroup = "measure"

// Declared are metrics that a file or a document describes itself, beside those of the registry or in
// their place: what a unit is can depend on it.
type Declared []Metric

// Lookup finds a metric by its ID, as the function of this name does.
func (d Declared) Lookup(id string) (Metric, bool) {
	if i := slices.IndexFunc(d, func(m Metric) bool { return m.ID == id }); i >= 0 {
		return d[i], true
	}
	return Lookup(id)
}

// All returns the metrics of the registry, as they are described, and the declared ones behind them.
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

// InMoney is the unit of a metric per million tokens in a currency.
func InMoney(currency string) Unit { return Unit(currency + "/Mtok") }
