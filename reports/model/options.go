package model

import "cmp"

// Options choose what a report shows. The zero value shows everything.
type Options struct {
	// Gates are the addresses of the gates to show; empty means all.
	Gates []string
	// Rows are the axes that name a cell, in this order; empty means all.
	Rows []string
	// Cols is the axis whose values are the columns of the measured values; empty means
	// the axis that the gates compare.
	Cols string
	// Metrics are the ids of the measured values to show; empty means those that gates
	// judge and a few that everybody asks for.
	Metrics []string
	// Budget bounds the size of markdown in bytes; 0 means no bound. What does not fit is
	// left out in whole rows and sections, and counted.
	Budget int
	// Unfolded is how many rows that did not pass are shown before the rest is folded; 0
	// folds none.
	Unfolded int
	// Full says where what was left out can be read, e.g. "the run's summary".
	Full string
	// Color allows ANSI colours in text; Width is the columns of the terminal, 120 if 0.
	Color bool
	Width int
	// Comparisons bounds the pairs of cells that a page shows with charts, regressions first;
	// 40 if 0, none if negative. What is left out is counted, and is in the tables.
	Comparisons int
	// TableRows bounds the rows of each table of a page; 1,500 if 0.
	TableRows int
	// Notes are what keeps the sides of a comparison from being like, for a page, below which
	// nothing can be printed.
	Notes []string
	// Brief leaves the legend out of text, and the sections that markdown folds except
	// what was decided and measured.
	Brief bool
}

// Source is where what was left out can be read.
func (o Options) Source() string {
	return cmp.Or(o.Full, "results.json")
}
