package model

import "cmp"

// Options choose what a report shows. The zero value shows everything.
type Options struct {
	// Gates lists the addresses of the gates to show; empty means all.
	Gates []string
	// Rows lists the axes that name a cell, in this order; empty means all.
	Rows []string
	// Cols is the axis whose values become the columns of the measured values; empty means the axis that the gates
	// compare.
	Cols string
	// Metrics lists the IDs of the measured values to show; empty means the gated ones and a few key metrics.
	Metrics []string
	// Budget limits the size of markdown in bytes; 0 means no limit. To fit, whole rows and sections are left out and
	// counted.
	Budget int
	// Comment shortens markdown to what a comment on a change needs: the verdict, what did not pass, what to do, and the
	// plot. The page has the rest.
	Comment bool
	// Full names the place with the omitted content, e.g. "the run's summary".
	Full string
	// Color allows ANSI colours in text; Width is the width of the terminal in columns, 120 if 0.
	Color bool
	Width int
	// Comparisons limits the pairs of cells for which a page has charts, regressions first; 40 if 0, none if
	// negative. The omitted ones are counted, and remain in the tables.
	Comparisons int
	// TableRows limits the rows of each table of a page; 1,500 if 0.
	TableRows int
	// NoGates is set for a document whose gates nobody wrote: it counts comparisons, and says nothing about gates and
	// merging.
	NoGates bool
	// Notes lists reasons why the sides of a comparison are not comparable like for like. Only a page shows them,
	// because no text can follow it.
	Notes []string
	// Brief omits the legend from text. It also omits the sections that markdown folds, except those with decisions
	// and measurements.
	Brief bool
}

// Source names the place with the omitted content.
func (o Options) Source() string {
	return cmp.Or(o.Full, "results.json")
}
