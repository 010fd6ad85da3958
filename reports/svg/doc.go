// Package svg draws the charts of the HTML reports: lines with bands (percentiles, distributions,
// time lines), the pairs of a comparison, forests of intervals, heat maps and trends over a
// history. Each is one element to be placed in a page.
//
//	chart := svg.Pairs{
//		ID: "p1", Title: "TTFT p99 of 6 repeats", Base: "off", Head: "on",
//		Points: []svg.Pair{{Label: "1", Base: 0.41, Head: 0.46}},
//	}
//	page := chart.SVG() // <svg class="chart" role="img" …>…</svg>
//
// Charts have classes and no colours: the page's style sheet defines both themes and print (the
// classes are base, head, grid, axis, label, zero, margin, beyond, band, heat and the levels, marks
// and verdicts that the caller passes). Charts contain no style attributes, scripts or addresses,
// so that they work under the strictest content security policy. Every text passes through package
// escape. Each chart has a title and a description for readers who do not see it; a table must
// contain the same data.
//
// Drawings are deterministic, and numbers have one decimal. The package does no statistics: the
// caller decides on quantiles, intervals and colours.
package svg
